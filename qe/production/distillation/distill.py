"""A student's experiment, and the data that a teacher makes for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.feature_set import parts_needed
from features.storage.files import resolved, sha256
from features.storage.strict_yaml import read_mapping
from features.word_level.places import Kind, Places, judges
from qe.config.experiment import IN_MEMORY, Experiment, ResourcesSection, from_mapping, on_extended
from qe.data.dataset import Dataset, Split
from qe.display.numbers import fixed
from qe.models.model import Model
from qe.scoring.input import Pool
from qe.scoring.word_level import WordLevel

STUDENTS: Final[Mapping[str, Path]] = {
    name: Path(__file__).with_name(f"{name}.yaml") for name in ("words", "surface")
}
_FEWEST: Final = 30  # rows: what is learned and measured of fewer says nothing of the teacher
_CHUNK: Final = 500  # rows that the teacher scores between two reports of progress


def student_of(
    teacher: Model, student: str | None = None, data_root: Path | None = None, overrides: Sequence[str] = ()
) -> Experiment:
    """The experiment of a student: one of `STUDENTS`, or a file.

    The default is `words` if the teacher scores words and has their resources, else `surface`.
    """
    if student is None:
        kinds, bundle = judges(teacher.feature_set.extractors), teacher.bundle
        student = "surface"
        if bundle is not None and {"word", "gap"} <= kinds.keys() and _built("word_quality", bundle):
            student = "words"
    if not (student in STUDENTS or Path(student).suffix or Path(student).exists()):
        raise unknown_name("student", student, STUDENTS, location="--student")
    resources = None if teacher.bundle is None or student == "surface" else teacher.bundle.path
    return load_student(STUDENTS.get(student, Path(student)), data_root, overrides, resources)


def load_student(
    path: Path, data_root: Path | None = None, overrides: Sequence[str] = (), resources: Path | None = None
) -> Experiment:
    """The student's experiment file, with data in memory; `resources` is the bundle if it names none."""
    content, files = on_extended(read_mapping(path, "experiment file"), path, data_root)
    content["dataset"] = {"format": IN_MEMORY, "path": "."}
    if resources is not None and path == STUDENTS["words"]:
        bundle = Bundle(resources)
        content["features"] = [one for one in content["features"] if _of_words(one) or _built(one, bundle)]
    if isinstance(content.get("split"), dict):
        names = ("train", "test")  # splits of other data
        content["split"] = {key: value for key, value in content["split"].items() if key not in names}
    student = from_mapping(content, data_root or path.parent, location=path, overrides=overrides, files=files)
    if resources is None or student.resources is not None:
        return student
    section = ResourcesSection.model_validate({"bundle": resolved(resources)})
    return student.model_copy(update={"resources": section})


def _built(feature: str | Mapping[str, Any], bundle: Bundle) -> bool:
    config = {"kind": feature} if isinstance(feature, str) else feature
    return set(parts_needed([config])) <= set(bundle.manifest["parts"])


def learns_words(student: Experiment) -> bool:
    return any(_of_words(feature) for feature in student.features)


def _of_words(feature: str | Mapping[str, Any]) -> bool:
    return not isinstance(feature, str) and feature.get("labels") == "word_tags"


def taught(
    teacher: Model, pool: Pool, source: Path, progress: Progress = silent, *, words: bool = False
) -> Dataset:
    """The pool, read from `source`, as a training split whose labels are the teacher's scores."""
    if len(pool.rows) < _FEWEST:
        problem = f"has {len(pool.rows)} segments to teach a model with, but at least {_FEWEST} are needed"
        raise InputError(problem, location=source, remedy="give thousands: text without labels")
    segments = teacher.segments(pool.columns)
    level = WordLevel.from_model(teacher, location="--student") if words else None
    rng = np.random.default_rng(0)
    ids = tuple(f"pool-{row}" for row in pool.rows)
    scores: list[FloatArray] = []
    tags: list[str] = []
    probabilities: list[str] = []
    for start in range(0, len(segments), _CHUNK):
        progress(f"scores of {teacher.name}", start, len(segments))
        chunk = segments.take(range(start, min(start + _CHUNK, len(segments))))
        scores.append(teacher.predict(chunk))
        if level is not None:
            lines = list(_interleaved(level.places(chunk)))
            probabilities += [" ".join(fixed(bad, 6) for bad in line.tolist()) for line in lines]
            sampled = ((line > rng.random(len(line))).tolist() for line in lines)
            tags += [" ".join("BAD" if is_bad else "OK" for is_bad in line) for line in sampled]
    progress(f"scores of {teacher.name}", len(segments), len(segments))
    labels = np.concatenate(scores)
    if not np.ptp(labels) > 0:
        raise InputError(
            "the teacher gives every segment the same score, of which nothing can be learned", location=source
        )
    split = Split(replace(segments, id=ids), labels)
    if words:
        split = replace(split, word_tags=tuple(tags), word_probabilities=tuple(probabilities))
    notes = (f"labels are scores of the model {teacher.name}, features {teacher.feature_set.fingerprint}",)
    name = f"{teacher.name}-taught"
    return Dataset(name, {"train": split}, teacher.scale, {str(source): sha256(source)}, notes)


def _interleaved(places: Mapping[Kind, Places]) -> Iterator[FloatArray]:
    for of_words, of_gaps in zip(places["word"].rows(), places["gap"].rows(), strict=True):
        together = np.empty(len(of_words) + len(of_gaps))
        together[0::2], together[1::2] = of_gaps, of_words
        yield together
