"""The demo: the whole main job on artificial data, without network or files of the user's."""

import time
from dataclasses import dataclass
from pathlib import Path

from features.basics.progress import Progress, silent
from features.storage.files import atomic_file
from features.storage.outputs import locked_folder
from qe.getting_started.demo.generation import DemoData, generate
from qe.scoring.job_summary import ScoredFile
from qe.scoring.jobs import score_file
from qe.scoring.settings import JobSettings
from qe.statistics.settings import check_seed
from qe.training.check import load
from qe.training.train import Outcome, train

EXPERIMENT = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True, eq=False)
class Demo:
    data: DemoData
    outcome: Outcome
    experiment: Path
    scores: Path
    scored: ScoredFile
    seconds: float


def demo(output: Path, *, seed: int = 1, cache: Path | None = None, progress: Progress = silent) -> Demo:
    """Generates the data, trains with search, evaluates, registers, and scores new translations.

    Everything is written to `output`, resources and features too unless `cache` is given. Results of an
    earlier demo are kept. Raises InputError for a folder that holds anything else.
    """
    check_seed(seed)
    with locked_folder(output, "demo", earlier_files=(EXPERIMENT.name,)):
        started = time.perf_counter()
        progress("generating artificial data", 0, None)
        data = generate(output / "data", seed=seed)
        path = output / EXPERIMENT.name
        with atomic_file(path) as temporary:
            temporary.write_bytes(EXPERIMENT.read_bytes())
        cache = cache or output / "cache"
        outcome = train(load(path), output, cache=cache, overwrite=True, keep_same=True, progress=progress)
        scores, settings = output / "scores.tsv", JobSettings(overwrite=True)
        scored = score_file(output / "model", [data.new_translations], scores, settings, progress=progress)
        return Demo(data, outcome, path, scores, scored, time.perf_counter() - started)
