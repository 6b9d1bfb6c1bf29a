"""Word-level evaluation behind `qe evaluate words`: files in, tables or JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.assignments import named_files
from features.basics.errors import InputError
from qe.cli._progress import progress_bar
from qe.data.tag_files import (
    Layout,
    TagFile,
    is_scored,
    is_word_submission,
    read_scored,
    read_tags,
    read_word_submission,
    same_tags,
)
from qe.evaluation.word_level import (
    WordReport,
    best_threshold,
    check_threshold_metric,
    cross_thresholded,
    evaluate_words,
)

if TYPE_CHECKING:
    pass


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
    named, names = _files(sources, "--source-predictions"), _files(systems)
    unknown = sorted(named.keys() - names.keys())
    if unknown:
        raise InputError(f"--source-predictions names '{unknown[0]}'", remedy=f"systems: {', '.join(names)}")
    given = list(sources)
    for argument, (name, path) in zip(systems, names.items(), strict=True):
        if name not in named and (is_scored(path) or is_word_submission(path)):
            given.append(argument)
        elif name not in named:
            raise InputError(f"no source words of '{name}'", remedy=f"add --source-predictions {name}=FILE")
    return given


def _read_gold(path: Path) -> TagFile:
    gold = read_tags(path)
    if gold.probabilities:
        raise InputError("holds probabilities, but gold tags are OK and BAD", location=gold.path)
    return gold


def _files(arguments: Sequence[str], option: str = "--predictions") -> dict[str, Path]:
    return named_files(arguments, option, lambda path: path.stem)


def _named(arguments: Sequence[str], layout: Layout) -> dict[str, TagFile]:
    return {name: _tags_of(path, layout) for name, path in _files(arguments).items()}


def _tags_of(path: Path, layout: Layout) -> TagFile:
    if is_scored(path):
        return read_scored(path, layout)
    return read_word_submission(path, layout) if is_word_submission(path) else read_tags(path)


def _tuning(systems: Sequence[str], options: WordOptions) -> dict[tuple[str, str], float]:
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
            location=file.path,
            remedy="give --threshold, --tune and --tune-gold, or --folds",
        )
    return file.tags


def draw_reliability(path: Path, reports: dict[str, WordReport]) -> None:
    """The reliability diagrams of all parts. Raises InputError if no system gives probabilities."""
    from qe.display.drawing import save
    from qe.evaluation.reliability_plot import reliability_plot

    parts = {part: report.reliability for part, report in reports.items() if report.reliability}
    if not parts:
        raise InputError("no system gives probabilities", location="--reliability", remedy="leave it out")
    save(reliability_plot(parts), path)
