"""A student's experiment, and the data that a teacher makes for it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from features.core.errors import InputError
from features.core.files import sha256
from features.core.progress import Progress, silent
from features.core.strict_yaml import read_mapping
from qe.config.experiment import IN_MEMORY, Experiment, made
from qe.data.dataset import Dataset, Split
from qe.models.model import Model
from qe.scoring.pool import Pool

STUDENT: Final = Path(__file__).with_name("student.yaml")
_CHUNK: Final = 500  # rows that the teacher scores between two reports of progress


def load_student(path: Path, data_root: Path | None = None, overrides: Sequence[str] = ()) -> Experiment:
    """The student's experiment file. Its `dataset`, if it has one, is not read: the teacher makes the data.

    Raises InputError as loading an experiment does.
    """
    content = dict(read_mapping(path, "experiment file"))
    content["dataset"] = {"format": IN_MEMORY, "path": "."}
    if isinstance(content.get("split"), dict):
        names = ("train", "test")  # splits of other data
        content["split"] = {key: value for key, value in content["split"].items() if key not in names}
    return made(content, data_root or path.parent, where=path, overrides=overrides)


def taught(teacher: Model, pool: Pool, source: Path, progress: Progress = silent) -> Dataset:
    """The pool, read from `source`, as a training split whose labels are the teacher's scores.

    Raises InputError if the pool lacks a column that the teacher needs.
    """
    segments = teacher.segments(pool.columns)
    ids = tuple(f"pool-{row}" for row in pool.rows)
    scores = []
    for start in range(0, len(segments), _CHUNK):
        progress(f"scores of {teacher.name}", start, len(segments))
        scores.append(teacher.predict(segments.take(range(start, min(start + _CHUNK, len(segments))))))
    progress(f"scores of {teacher.name}", len(segments), len(segments))
    labels = np.concatenate(scores)
    if not np.ptp(labels) > 0:
        raise InputError(
            "the teacher gives every segment the same score, of which nothing can be learned", where=source
        )
    split = Split(replace(segments, id=ids), labels)
    notes = (f"labels are scores of the model {teacher.name}, features {teacher.feature_set.fingerprint}",)
    name = f"{teacher.name}-taught"
    return Dataset(name, {"train": split}, teacher.scale, {str(source): sha256(source)}, notes)
