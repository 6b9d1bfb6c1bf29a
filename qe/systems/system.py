"""System: the outputs of one system.

It also checks what systems, references and metrics need to be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from features.basics.errors import InputError, unknown_name
from qe.display.summary import summarised
from qe.systems.mt_metrics.table import SegmentScores
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts


@summarised
@dataclass(frozen=True, eq=False)
class System:
    """The output of one system: one column of n segments per optimizer run.

    Attributes
    ----------
    dev : tuple of Texts
        Its runs on a development set.
    dev_scores : mapping of str to sequence of float
        Or, metric name -> scores of the runs there.
    score_files : mapping of str to tuple of Texts
        Name of a `SegmentScores` metric -> a column of n scores per run.
    """

    name: str
    runs: tuple[Texts, ...]
    dev: tuple[Texts, ...] = ()
    dev_scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    score_files: Mapping[str, tuple[Texts, ...]] = field(default_factory=dict)


def columns_of(system: System) -> list[Texts]:
    """The texts of the runs, and their files of scores."""
    return [*system.runs, *(column for columns in system.score_files.values() for column in columns)]


def check(systems: Sequence[System], references: Sequence[Texts], metrics: Mapping[str, TextMetric]) -> None:
    """Check that systems can be compared.

    Raises InputError for bad names, runs, references, score files or lengths.
    """
    names = [system.name for system in systems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"system named twice: {', '.join(twice)}", remedy="give all runs of a system at once"
        )
    if not systems:
        raise InputError("no system to score")
    for system in systems:
        if not system.runs:
            raise InputError(f"system '{system.name}' has no run")
    if not metrics:
        raise InputError("no metric to score by")
    if not references and any(metric.needs_references for metric in metrics.values()):
        raise InputError("no reference", remedy="give at least one reference file")
    for system in systems:
        _check_score_files(system, metrics)
    files = [column for system in systems for columns in system.score_files.values() for column in columns]
    check_lengths([*references, *(run for system in systems for run in system.runs), *files])
    for reference in references:
        for number, line in enumerate(reference.lines, start=1):
            if not line.strip():
                raise InputError(
                    "empty reference", location=f"{reference.name}:{number}",
                    remedy="every segment needs a reference: complete the line or leave the segment out",
                )  # fmt: skip


def _check_score_files(system: System, metrics: Mapping[str, TextMetric]) -> None:
    for name, metric in metrics.items():
        if isinstance(metric, SegmentScores):
            files = system.score_files.get(name, ())
            if len(files) != len(system.runs):
                raise InputError(
                    f"'{system.name}' has {len(system.runs)} runs, but {len(files)} score files of {name}",
                    remedy="give one for each run of each system",
                )


def check_lengths(columns: Sequence[Texts]) -> None:
    """Raises InputError for columns of different length, and for empty ones."""
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{column.name} has {len(column)}" for column in columns)
        raise InputError(f"all files must have as many segments, but {counts}")
    if columns and len(columns[0]) == 0:
        raise InputError("no segments", location=columns[0].name)


def known_baseline(systems: Sequence[System], name: str | None) -> str:
    """The baseline's name, by default the first system's. Raises InputError for a name of none."""
    names = [system.name for system in systems]
    if name is None:
        return names[0]
    if name not in names:
        raise unknown_name("baseline", name, names)
    return name
