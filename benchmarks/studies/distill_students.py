"""Students of `qe distill` against their teacher: loss by people's labels, and speed.

    python benchmarks/studies/distill_students.py EXPERIMENT --rows 9000 --pool 12000 --held-out 4000 \\
        --folder DIR

Random training segments of the experiment, in three parts that share none: the teacher learns from the
labels of `--rows`, scores the translations of `--pool`, whose labels nobody sees, and both score
`--held-out`. Pearson and DeltaAvg by the labels of these; differences with 95 % intervals by the paired
bootstrap of segments (10,000 samples, seed 0). Segments per CPU second: scoring the held-out segments in this
process, the model loaded already. `--student`: another student than `qe distill` would choose; `--set`: its
keys. The student is the model that `qe distill` makes, without the cross-validation of its report. The
trained teacher stays in `--folder` and is taken from there the next time.
"""

import argparse
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from wmt18_variants import DATA, difference

from features.storage.files import atomic_file
from qe.config.experiment import load
from qe.data.dataset import Split
from qe.models.model import Model
from qe.models.pipeline import Candidate
from qe.production.distillation.distill import learns_words, student_of, taught
from qe.scoring.input import read_pool
from qe.statistics.metrics.ranking import DeltaAvg
from qe.training.check import check
from qe.training.fitting import fit_model
from qe.training.preparation import prepare
from qe.training.reading import read_dataset
from qe.training.train import train


def write_pool(path: Path, split: Split) -> None:
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write("source\ttarget\n")
        for source, target in zip(split.segments.source, split.segments.target, strict=True):
            stream.write(f"{source}\t{target}\n")


def scored(model: Model, split: Split) -> tuple[np.ndarray, float]:
    """Predictions, and segments per CPU second."""
    segments = split.segments
    columns = {"source": list(segments.source), "target": list(segments.target)}
    model.predict(model.segments({name: values[:50] for name, values in columns.items()}))  # compiled code
    started = time.process_time()
    predicted = model.predict(model.segments(columns))
    return predicted, len(split) / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=9000)
    parser.add_argument("--pool", type=int, default=12_000)
    parser.add_argument("--held-out", type=int, default=4000)
    parser.add_argument(
        "--student", help="words, surface or a file; as `qe distill` chooses if there is none"
    )
    parser.add_argument("--set", action="append", default=[], help="override a key of the student")
    arguments = parser.parse_args()
    folder, cache = arguments.folder, arguments.folder / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{folder.resolve() / 'mlflow.db'}")
    experiment = load(
        arguments.experiment, data_root=arguments.data_root, overrides=["tracking.register=false"]
    )
    dataset = read_dataset(experiment)
    whole = dataset.splits["train"]
    parts = np.cumsum([arguments.rows, arguments.pool, arguments.held_out])
    order = np.random.default_rng(0).permutation(len(whole))[: parts[-1]]
    learned, pool, held_out = (whole.take(np.sort(rows)) for rows in np.split(order, parts[:-1]))
    teacher_folder = folder / f"teacher-{experiment.name}-{arguments.rows}"
    if not (teacher_folder / "report.json").is_file():
        known = replace(dataset, splits={**dataset.splits, "train": learned})
        train(check(experiment, in_memory=True), teacher_folder, cache=cache, dataset=known, overwrite=True)
    teacher = Model.load(teacher_folder / "model")
    write_pool(folder / "pool.tsv", pool)
    student = student_of(
        teacher, arguments.student, arguments.data_root, [*arguments.set, "tracking.register=false"]
    )
    started = time.process_time()
    pool_file = folder / "pool.tsv"
    data = taught(teacher, read_pool(pool_file), pool_file, words=learns_words(student))
    prepared = prepare(check(student, in_memory=True), cache, dataset=data)
    made = fit_model(prepared, Candidate(student.learner[0].kind, student.learner[0].params))
    shutil.rmtree(folder / "student", ignore_errors=True)
    made.save(folder / "student")
    print(f"teacher's scores of {len(pool):,}, and the student: {time.process_time() - started:.0f} CPU s")
    gold, sign = np.asarray(held_out.scores), dataset.scale.sign
    first: np.ndarray | None = None
    for name, model in (("teacher", teacher), ("student", Model.load(folder / "student"))):
        predicted, speed = scored(model, held_out)
        line = f"{name}  Pearson {np.corrcoef(predicted, gold)[0, 1]:.4f}"
        line += f"  DeltaAvg {DeltaAvg().score(sign * gold, sign * predicted):.4f}"
        line += f"  {speed:,.0f} segments per CPU s"
        if first is None:
            first = predicted
        else:
            low, high = difference(predicted, first, gold)
            line += f"  Pearson less the teacher's [{low:+.4f}, {high:+.4f}]"
        print(line, flush=True)


if __name__ == "__main__":
    main()
