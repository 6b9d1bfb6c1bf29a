"""The demo: the whole main job on artificial data, without network or files of the user's."""

import time
from dataclasses import dataclass
from pathlib import Path

from features.core.progress import Progress, silent
from qe import experiment
from qe.demo_data import DemoData, generate
from qe.scoring import Summary, score_file
from qe.training import Outcome, train

EXPERIMENT = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo made."""

    data: DemoData
    outcome: Outcome
    scores: Path
    scored: Summary
    seconds: float


def demo(output: Path, *, seed: int = 1, cache: Path | None = None, progress: Progress = silent) -> Demo:
    """Generates the data, trains with search, evaluates, registers, and scores new translations.

    Everything lies in `output`; resources and features are cached in `output/cache` unless `cache` is
    given, so that the demo shows the work from its beginning.
    """
    started = time.perf_counter()
    progress("generating artificial data", 0, None)
    data = generate(output / "data", seed=seed)
    loaded = experiment.load(EXPERIMENT, data_root=output)
    outcome = train(loaded, output, cache=cache or output / "cache", overwrite=True, progress=progress)
    scores = output / "scores.tsv"
    scored = score_file(output / "model", [data.new_translations], scores, overwrite=True, progress=progress)
    return Demo(data, outcome, scores, scored, time.perf_counter() - started)
