"""Word-level evaluation behind `qe evaluate words`: files in, tables or JSON out."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.assignments import named_files
from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.options import WordOptions
from qe.data import tag_files
from qe.evaluation.word_level import (
    WordReport,
    best_threshold,
    check_threshold_metric,
    cross_thresholded,
    evaluate_words,
)

_Part = tuple[tag_files.TagFile, dict[str, tag_files.TagFile]]


def check_options(options: WordOptions) -> None:
    check_threshold_metric(options.thresholds_by, "--thresholds-by")
    if sum([options.threshold is not None, bool(options.tune), options.folds is not None]) > 1:
        raise InputError("--threshold, --tune and --folds exclude each other", remedy="give one of them")
    if bool(options.tune) != (options.tune_gold is not None):
        raise InputError("--tune and --tune-gold go together", remedy="give both")
    if options.source_gold is not None and options.layout != "tags":
        raise InputError("--source-gold needs the layout `tags`", remedy="leave one of them out")
    if options.source_predictions and options.source_gold is None:
        raise InputError("--source-predictions needs --source-gold", remedy="give both")
    if options.source_gold is not None and options.tune:
        remedy = "evaluate source words separately: --layout source"
        raise InputError("--source-gold and --tune exclude each other", remedy=remedy)


def evaluate_tag_files(
    gold: Path, systems: Sequence[str], options: WordOptions, progress: Progress
) -> dict[str, WordReport]:
    parts = _parts(gold, systems, cast(tag_files.Layout, options.layout))
    if options.source_gold is not None:
        parts |= _parts(options.source_gold, _of_source(systems, options.source_predictions or ()), "source")
    tuning = _tuning(systems, options)
    reports = {}
    for part, (labels, files) in parts.items():
        tags = {
            name: _tags(name, file, labels, tuning.get((name, part)), options) for name, file in files.items()
        }
        reports[part] = evaluate_words(
            labels.bad == 1,
            tags,
            labels.offsets,
            options,
            baselines=options.baseline or (),
            probabilities={name: file.bad for name, file in files.items() if file.probabilities},
            progress=progress,
        )
    return reports


def _parts(gold: Path, systems: Sequence[str], layout: tag_files.Layout) -> dict[str, _Part]:
    whole = _read_gold(gold)
    files = _tag_files(systems, layout)
    for file in files.values():
        tag_files.same_tags(whole, file)
    by_system = {name: file.parts(layout) for name, file in files.items()}
    return {
        part: (labels, {name: parts[part] for name, parts in by_system.items()})
        for part, labels in whole.parts(layout).items()
    }


def _of_source(systems: Sequence[str], sources: Sequence[str]) -> list[str]:
    named, names = _files(sources, "--source-predictions"), _files(systems)
    unknown = sorted(named.keys() - names.keys())
    if unknown:
        raise InputError(f"--source-predictions names '{unknown[0]}'", remedy=f"systems: {', '.join(names)}")
    arguments = list(sources)
    for argument, (name, path) in zip(systems, names.items(), strict=True):
        if name not in named and (tag_files.is_scored(path) or tag_files.is_word_submission(path)):
            arguments.append(argument)
        elif name not in named:
            raise InputError(f"no source words of '{name}'", remedy=f"add --source-predictions {name}=FILE")
    return arguments


def _read_gold(path: Path) -> tag_files.TagFile:
    gold = tag_files.read_tags(path)
    if gold.probabilities:
        raise InputError("holds probabilities, but gold tags are OK and BAD", location=gold.path)
    return gold


def _files(arguments: Sequence[str], option: str = "--predictions") -> dict[str, Path]:
    return named_files(arguments, option, lambda path: path.stem)


def _tag_files(arguments: Sequence[str], layout: tag_files.Layout) -> dict[str, tag_files.TagFile]:
    files = {}
    for name, path in _files(arguments).items():
        if tag_files.is_scored(path):
            files[name] = tag_files.read_scored(path, layout)
        elif tag_files.is_word_submission(path):
            files[name] = tag_files.read_word_submission(path, layout)
        else:
            files[name] = tag_files.read_tags(path)
    return files


def _tuning(systems: Sequence[str], options: WordOptions) -> dict[tuple[str, str], float]:
    if options.tune_gold is None:
        return {}
    layout = cast(tag_files.Layout, options.layout)
    files, tuned = _tag_files(systems, layout), _tag_files(options.tune or (), layout)
    gold = _read_gold(options.tune_gold)
    for name, file in files.items():
        if file.probabilities and name not in tuned:
            raise InputError(f"no --tune file of '{name}'", remedy=f"add --tune {name}=FILE")
    thresholds = {}
    for name, file in tuned.items():
        if name not in files:
            raise InputError(f"--tune names '{name}'", remedy=f"systems: {', '.join(files)}")
        tag_files.same_tags(gold, file)
        for part, labels in gold.parts(layout).items():
            probabilities = file.parts(layout)[part].bad
            thresholds[name, part] = best_threshold(labels.bad == 1, probabilities, options.thresholds_by)
    return thresholds


def _tags(
    name: str, file: tag_files.TagFile, gold: tag_files.TagFile, tuned: float | None, options: WordOptions
) -> BoolArray:
    if not file.probabilities:
        return np.asarray(file.bad == 1)
    if options.folds is not None:
        return cross_thresholded(
            gold.bad == 1,
            file.bad,
            gold.offsets,
            folds=options.folds,
            metric=options.thresholds_by,
            seed=options.seed,
        )
    threshold = options.threshold if tuned is None else tuned
    if threshold is not None:
        return np.asarray(file.bad >= threshold)
    if file.tags is None:
        problem = f"'{name}' holds probabilities, and tags need a threshold"
        remedy = "give --threshold, --tune and --tune-gold, or --folds"
        raise InputError(problem, location=file.path, remedy=remedy)
    return file.tags
