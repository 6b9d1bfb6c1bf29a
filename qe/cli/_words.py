"""Word-level evaluation behind `qe evaluate --words`: files in, tables or JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from features.core.array_types import BoolArray
from features.core.errors import InputError
from qe.cli._common import progress_bar
from qe.data.tag_files import TagFile, read_tags, same_tags
from qe.evaluation.word_level import (
    METRICS,
    WordReport,
    best_threshold,
    cross_thresholded,
    evaluate_words,
)

if TYPE_CHECKING:
    from rich.table import Table

_TITLES = {"mcc": "MCC", "f1_mult": "F1-mult", "f1_bad": "F1 BAD", "f1_ok": "F1 OK"}


@dataclass(frozen=True)
class WordOptions:
    """How probabilities become tags, and what is compared.

    layout     tags (gap, word, gap, ...), words, gaps or source
    threshold  on P(BAD)
    tune       [NAME=]FILE of probabilities for the development set `tune_gold`, where thresholds are chosen
    folds      choose thresholds inside so many folds of the segments themselves
    """

    layout: str
    threshold: float | None
    tune: Sequence[str]
    tune_gold: Path | None
    folds: int | None
    baselines: Sequence[str]
    samples: int | None
    seed: int
    correction: str
    family: Any

    def __post_init__(self) -> None:
        ways = [self.threshold is not None, bool(self.tune), self.folds is not None]
        if sum(ways) > 1:
            raise InputError("--threshold, --tune and --folds exclude each other", remedy="give one of them")
        if bool(self.tune) != (self.tune_gold is not None):
            raise InputError("--tune and --tune-gold go together", remedy="give both")


def evaluate_tag_files(
    gold: Path, systems: Sequence[str], options: WordOptions, quiet: bool
) -> dict[str, WordReport]:
    """Part (words, gaps, source) -> its report.

    Raises InputError for files that do not fit each other, and probabilities without a way to tags.
    """
    labels = read_tags(gold)
    _check_gold(labels)
    files = _named(systems)
    for file in files.values():
        same_tags(labels, file)
    tuning = _tuning(files, options)
    reports = {}
    with progress_bar(quiet) as progress:
        for part, own in labels.parts(options.layout).items():  # type: ignore[arg-type]
            predictions = {
                name: _tags(name, file.parts(options.layout)[part], own, tuning.get((name, part)), options)  # type: ignore[arg-type]
                for name, file in files.items()
            }
            reports[part] = evaluate_words(
                own.bad == 1, predictions, own.offsets,
                baselines=options.baselines, samples=options.samples, seed=options.seed,
                correction=options.correction, family=options.family, progress=progress,
            )  # fmt: skip
    return reports


def _check_gold(gold: TagFile) -> None:
    if gold.probabilities:
        raise InputError("holds probabilities, but gold tags are OK and BAD", where=gold.path)


def _named(arguments: Sequence[str]) -> dict[str, TagFile]:
    files: dict[str, TagFile] = {}
    for argument in arguments:
        name, equals, rest = argument.partition("=")
        named = bool(equals) and not Path(argument).exists()
        file = read_tags(Path(rest if named else argument))
        name = name if named else file.path.stem
        if name in files:
            raise InputError(f"two systems are named '{name}'", remedy="use NAME=FILE")
        files[name] = file
    return files


def _tuning(files: dict[str, TagFile], options: WordOptions) -> dict[tuple[str, str], float]:
    """(system, part) -> the threshold that is best on the development set."""
    if options.tune_gold is None:
        return {}
    gold = read_tags(options.tune_gold)
    _check_gold(gold)
    tuned = _named(options.tune)
    for name, file in files.items():
        if file.probabilities and name not in tuned:
            raise InputError(f"no --tune file of '{name}'", remedy=f"add --tune {name}=FILE")
    thresholds = {}
    for name, file in tuned.items():
        if name not in files:
            raise InputError(f"--tune names '{name}'", remedy=f"systems: {', '.join(files)}")
        same_tags(gold, file)
        for part, own in gold.parts(options.layout).items():  # type: ignore[arg-type]
            given = file.parts(options.layout)[part]  # type: ignore[arg-type]
            thresholds[name, part] = best_threshold(own.bad == 1, given.bad)
    return thresholds


def _tags(name: str, file: TagFile, gold: TagFile, tuned: float | None, options: WordOptions) -> BoolArray:
    """(t,) whether a tag is BAD."""
    if not file.probabilities:
        return np.asarray(file.bad == 1)
    if options.folds is not None:
        return cross_thresholded(
            gold.bad == 1, file.bad, gold.offsets, folds=options.folds, seed=options.seed
        )
    threshold = options.threshold if tuned is None else tuned
    if threshold is None:
        raise InputError(
            f"'{name}' holds probabilities, and tags need a threshold",
            where=file.path,
            remedy="give --threshold, --tune and --tune-gold, or --folds",
        )
    return np.asarray(file.bad >= threshold)


def word_tables(reports: dict[str, WordReport]) -> "list[Table]":
    """One table a part: systems, best first by MCC, with intervals; p beside the one baseline."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    tables = []
    for part, report in reports.items():
        title = f"{part}: {report.segments:,} segments, {report.tags[0]:,} tags, {report.tags[1]:,} BAD"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("System", overflow="fold", min_width=12)
        for metric in METRICS:
            for header in (_TITLES[metric], *(["95 % interval"] if report.ci and metric == "mcc" else [])):
                table.add_column(header, justify="right", no_wrap=True)
        for name in sorted(report.scores, key=lambda name: -report.scores[name]["mcc"]):
            cells = [name]
            for metric in METRICS:
                cells.append(f"{report.scores[name][metric]:.3f}")
                if report.ci and metric == "mcc":
                    low, high = report.ci[name][metric]
                    cells.append(f"{low:.3f}..{high:.3f}")
            table.add_row(*cells)
        tables.append(table)
        if report.comparisons:
            tables.append(_differences(report))
    return tables


def word_notes(reports: dict[str, WordReport]) -> list[str]:
    """What the tables rest on: test, units, correction with its family, clusters, cautions."""
    recipe = next(iter(reports.values())).recipe
    lines = []
    if recipe["samples"]:
        segments = next(iter(reports.values())).segments
        lines.append(f"{recipe['samples']:,} samples of {segments:,} whole segments, seed {recipe['seed']};"
                     f" 95 % intervals: {recipe['interval']}")  # fmt: skip
    if any(report.comparisons for report in reports.values()):
        sizes = ", ".join(f"{name}: {size}" for name, size in recipe["family"]["comparisons"].items())
        test = next(one.result.test for report in reports.values() for one in report.comparisons)
        lines.append(
            f"p: {test}; corrected ({recipe['correction']}) within families of comparisons ({sizes}), words"
            " and gaps apart"
        )
    for part, report in reports.items():
        if "mcc" in report.clusters and len(report.scores) > 1:
            groups = " > ".join(", ".join(group) for group in report.clusters["mcc"])
            lines.append(f"{part}, MCC clusters: {groups}")
    cautions = dict.fromkeys(note for report in reports.values() for note in report.notes)
    return [*lines, *(f"note: {note}" for note in cautions)]


def _differences(report: WordReport) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in ("System", "minus", "MCC", "95 % interval", "p"):
        table.add_column(header, justify="left" if header in ("System", "minus") else "right")
    for one in report.comparisons:
        if one.metric == "mcc":
            interval = f"{one.ci[0]:.3f}..{one.ci[1]:.3f}"
            p = "?" if one.result.undecided else f"{one.p_corrected:.4f}"
            table.add_row(one.system, one.baseline, f"{one.result.difference:.3f}", interval, p)
    return table
