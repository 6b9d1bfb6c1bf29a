"""Word-level evaluation behind `qe evaluate words`: files in, tables or JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.assignments import named_files
from features.basics.errors import InputError
from qe.cli._common import progress_bar
from qe.data.tag_files import Layout, TagFile, is_scored, read_scored, read_tags, same_tags
from qe.evaluation.reliability import BINS
from qe.evaluation.word_level import (
    METRICS,
    WordReport,
    best_threshold,
    check_threshold_metric,
    cross_thresholded,
    evaluate_words,
)

if TYPE_CHECKING:
    from rich.table import Table

_TITLES = {"mcc": "MCC", "f1_mult": "F1-mult", "f1_bad": "F1 BAD", "f1_ok": "F1 OK", "ece": "ECE"}


@dataclass(frozen=True)
class WordOptions:
    """How probabilities become tags, and what is compared.

    layout     tags (gap, word, gap, ...), words, gaps or source
    source     gold tags of source words, evaluated beside those of the target
    sources    [NAME=]FILE of source words, where they are not in the systems' own files
    threshold  on P(BAD)
    tune       [NAME=]FILE of probabilities for the development set `tune_gold`, where thresholds are chosen
    folds      choose thresholds inside so many folds of the segments themselves
    """

    layout: Layout
    threshold: float | None
    tune: Sequence[str]
    tune_gold: Path | None
    folds: int | None
    metric: str
    source: Path | None
    sources: Sequence[str]
    baselines: Sequence[str]
    samples: int | None
    seed: int
    correction: str
    family: Any

    def __post_init__(self) -> None:
        check_threshold_metric(self.metric, "--thresholds-by")
        ways = [self.threshold is not None, bool(self.tune), self.folds is not None]
        if sum(ways) > 1:
            raise InputError("--threshold, --tune and --folds exclude each other", remedy="give one of them")
        if bool(self.tune) != (self.tune_gold is not None):
            raise InputError("--tune and --tune-gold go together", remedy="give both")
        if self.source is not None and self.layout != "tags":
            raise InputError("--source-gold goes with the layout `tags`", remedy="leave one of them out")
        if self.sources and self.source is None:
            raise InputError("--source-predictions needs --source-gold", remedy="give both")
        if self.source is not None and self.tune:
            raise InputError(
                "--source-gold does not go with --tune",
                remedy="evaluate source words by themselves: --layout source",
            )


def evaluate_tag_files(
    gold: Path, systems: Sequence[str], options: WordOptions, quiet: bool
) -> dict[str, WordReport]:
    """Part (words, gaps, source) -> its report.

    Raises InputError for files that do not fit each other, and probabilities without a way to tags.
    """
    parts = _parts(gold, systems, options.layout)
    if options.source is not None:
        parts |= _parts(options.source, _of_source(systems, options.sources), "source")
    tuning = _tuning(systems, options)
    reports = {}
    with progress_bar(quiet) as progress:
        for part, (own, files) in parts.items():
            tags = {
                name: _tags(name, file, own, tuning.get((name, part)), options)
                for name, file in files.items()
            }
            reports[part] = evaluate_words(
                own.bad == 1,
                tags,
                own.offsets,
                baselines=options.baselines,
                samples=options.samples,
                seed=options.seed,
                correction=options.correction,
                family=options.family,
                probabilities={name: file.bad for name, file in files.items() if file.probabilities},
                progress=progress,
            )
    return reports


_Part = tuple[TagFile, dict[str, TagFile]]


def _parts(gold: Path, systems: Sequence[str], layout: Layout) -> dict[str, _Part]:
    """Part -> gold tags, and what every system says."""
    labels = _read_gold(gold)
    files = _named(systems, layout)
    for file in files.values():
        same_tags(labels, file)
    by_system = {name: file.parts(layout) for name, file in files.items()}
    return {
        part: (own, {name: parts[part] for name, parts in by_system.items()})
        for part, own in labels.parts(layout).items()
    }


def _of_source(systems: Sequence[str], sources: Sequence[str]) -> list[str]:
    """The files of source words: those named, and of the other systems the files of scored rows."""
    named, names = _files(sources, "--source-predictions"), _files(systems)
    unknown = sorted(named.keys() - names.keys())
    if unknown:
        raise InputError(f"--source-predictions names '{unknown[0]}'", remedy=f"systems: {', '.join(names)}")
    given = list(sources)
    for argument, (name, path) in zip(systems, names.items(), strict=True):
        if name not in named and is_scored(path):
            given.append(argument)
        elif name not in named:
            raise InputError(f"no source words of '{name}'", remedy=f"add --source-predictions {name}=FILE")
    return given


def _read_gold(path: Path) -> TagFile:
    """Raises InputError for a file of probabilities."""
    gold = read_tags(path)
    if gold.probabilities:
        raise InputError("holds probabilities, but gold tags are OK and BAD", where=gold.path)
    return gold


def _files(arguments: Sequence[str], option: str = "--predictions") -> dict[str, Path]:
    """The file of each system, which is named by the file without its ending where it has no name."""
    return named_files(arguments, option, lambda path: path.stem)


def _named(arguments: Sequence[str], layout: Layout) -> dict[str, TagFile]:
    return {
        name: read_scored(path, layout) if is_scored(path) else read_tags(path)
        for name, path in _files(arguments).items()
    }


def _tuning(systems: Sequence[str], options: WordOptions) -> dict[tuple[str, str], float]:
    """(system, part) -> the threshold that is best on the development set."""
    if options.tune_gold is None:
        return {}
    files, tuned = _named(systems, options.layout), _named(options.tune, options.layout)
    gold = _read_gold(options.tune_gold)
    for name, file in files.items():
        if file.probabilities and name not in tuned:
            raise InputError(f"no --tune file of '{name}'", remedy=f"add --tune {name}=FILE")
    thresholds = {}
    for name, file in tuned.items():
        if name not in files:
            raise InputError(f"--tune names '{name}'", remedy=f"systems: {', '.join(files)}")
        same_tags(gold, file)
        for part, own in gold.parts(options.layout).items():
            given = file.parts(options.layout)[part]
            thresholds[name, part] = best_threshold(own.bad == 1, given.bad, options.metric)
    return thresholds


def _tags(name: str, file: TagFile, gold: TagFile, tuned: float | None, options: WordOptions) -> BoolArray:
    """(t,) whether a tag is BAD: by a threshold if one is asked for, else as the file says."""
    if not file.probabilities:
        return np.asarray(file.bad == 1)
    if options.folds is not None:
        return cross_thresholded(
            gold.bad == 1,
            file.bad,
            gold.offsets,
            folds=options.folds,
            metric=options.metric,
            seed=options.seed,
        )
    threshold = options.threshold if tuned is None else tuned
    if threshold is not None:
        return np.asarray(file.bad >= threshold)
    if file.tags is None:
        raise InputError(
            f"'{name}' holds probabilities, and tags need a threshold",
            where=file.path,
            remedy="give --threshold, --tune and --tune-gold, or --folds",
        )
    return file.tags


def word_tables(reports: dict[str, WordReport]) -> "list[Table]":
    """One table a part: systems, best first by MCC, with intervals; p beside the one baseline."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    tables = []
    for part, report in reports.items():
        title = f"{part}: {report.segments:,} segments, {report.tags[0]:,} tags, {report.tags[1]:,} BAD"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("System", overflow="fold", min_width=12)
        for metric in _shown(report):
            table.add_column(_TITLES[metric], justify="right", no_wrap=True)
        for name in sorted(report.scores, key=lambda name: -report.scores[name]["mcc"]):
            table.add_row(name, *(_cell(report, name, metric) for metric in _shown(report)))
        tables.append(table)
        if report.comparisons:
            tables.append(_differences(report))
    return tables


def _shown(report: WordReport) -> list[str]:
    """The metrics of a table's columns."""
    calibrated = any("ece" in scores for scores in report.scores.values())
    return [*METRICS, *(["ece"] if calibrated else [])]


def _cell(report: WordReport, name: str, metric: str) -> str:
    """The score, and under it the interval."""
    if metric not in report.scores[name]:
        return "-"
    score = f"{report.scores[name][metric]:.3f}"
    if metric == "ece":
        return f"{score}\n(chance {report.scores[name]['ece_by_chance']:.3f})"
    if not report.ci:
        return score
    low, high = report.ci[name][metric]
    return f"{score}\n{low:.3f}..{high:.3f}"


def word_notes(reports: dict[str, WordReport]) -> list[str]:
    """What the tables rest on: test, units, correction with its family, clusters, cautions."""
    recipe = next(iter(reports.values())).recipe
    lines = []
    if recipe["samples"]:
        segments = next(iter(reports.values())).segments
        lines.append(f"{recipe['samples']:,} samples of {segments:,} whole segments, seed {recipe['seed']};"
                     f" 95 % intervals: {recipe['interval']}")  # fmt: skip
    if any("ece" in _shown(report) for report in reports.values()):
        lines.append(
            f"ECE: mean of |mean P(BAD) - share of BAD| over {BINS} bins of equal mass, weighted by their"
            " tags; chance: what true probabilities would have on these segments"
        )
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


def draw_reliability(path: Path, reports: dict[str, WordReport]) -> None:
    """The reliability diagrams of all parts. Raises InputError if no system gives probabilities."""
    from qe.evaluation.plots import save
    from qe.evaluation.reliability_plot import reliability_plot

    parts = {part: report.reliability for part, report in reports.items() if report.reliability}
    if not parts:
        raise InputError("no system gives probabilities", where="--reliability", remedy="leave it out")
    save(reliability_plot(parts), path)
