"""`qe evaluate words`: tags of words, gaps and source words against gold tags."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from qe.cli._common import emit
from qe.cli._options import (
    TESTS,
    Baseline,
    Correct,
    Family,
    Json,
    Quiet,
    Resamples,
    input_option,
    output_option,
    seed_option,
)

_tags_option = partial(typer.Option, rich_help_panel="probabilities as tags")


def words(
    gold: Annotated[Path, input_option(metavar="FILE", help="Gold tags: OK and BAD.")],
    predictions: Annotated[
        list[str],
        input_option(
            metavar="[NAME=]FILE...",
            help="Tags or P(BAD) of each system, or what `qe score --tokens` wrote (JSONL).",
        ),
    ],
    layout: Annotated[
        str,
        input_option(
            metavar="tags|words|gaps|source", help="What a line holds; tags: gap, word, gap, word, ..., gap."
        ),
    ] = "tags",
    source_gold: Annotated[
        Path | None,
        input_option(metavar="FILE", help="Gold tags of source words, evaluated too."),
    ] = None,
    source_predictions: Annotated[
        list[str] | None,
        input_option(
            metavar="[NAME=]FILE...", help="Source words of systems whose own files do not hold them."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        _tags_option(min=0, max=1, help="BAD is what has at least this P(BAD)."),
    ] = None,
    tune: Annotated[
        list[str] | None,
        _tags_option(metavar="[NAME=]FILE...", help="Or: choose thresholds by P(BAD) of a development set."),
    ] = None,
    tune_gold: Annotated[Path | None, _tags_option(metavar="FILE", help="Gold tags of that set.")] = None,
    folds: Annotated[
        int | None,
        _tags_option(min=2, help="Or: choose thresholds inside so many folds."),
    ] = None,
    thresholds_by: Annotated[
        str,
        _tags_option(metavar="mcc|f1_mult", help="What thresholds are best by."),
    ] = "mcc",
    baseline: Baseline = None,
    samples: Resamples = None,
    seed: Annotated[int, seed_option("Seed of the resamples.", TESTS)] = 0,
    correct: Correct = "holm",
    family: Family = "metric",
    reliability: Annotated[
        Path | None,
        output_option(metavar="PNG", help="Draw how reliable probabilities are."),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("--output", "-o", metavar="FILE", help="Also write the JSON report here."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score tags of words, gaps and source words against gold tags.

    It gives MCC, F1, calibration and significance.

    Probabilities become tags by a threshold: one that is given, or one that is chosen on other segments. By
    default the tags of the file itself count.

    Examples:

        qe evaluate words --gold dev.tags --predictions a=a.tags b=b.probs --threshold 0.5

        qe evaluate words --gold dev.tags --source-gold dev.src_tags --predictions model=scores.jsonl
        --reliability reliability.png
    """
    from features.basics.assignments import named_file
    from features.storage.outputs import check_output
    from qe.cli._words import WordOptions, draw_reliability, evaluate_tag_files
    from qe.display.terminal import say, show
    from qe.evaluation.word_tables import word_notes, word_tables

    settings: Any = {"layout": layout, "family": family}
    chosen = WordOptions(
        threshold=threshold, tune=tune or (), tune_gold=tune_gold, folds=folds, metric=thresholds_by,
        source=source_gold, sources=source_predictions or (), baselines=baseline or (), samples=samples,
        seed=seed, correction=correct, **settings,
    )  # fmt: skip
    named = [named_file(text)[1] for text in (*predictions, *chosen.tune, *chosen.sources)]
    inputs = [path for path in (gold, tune_gold, source_gold, *named) if path is not None]
    if output is not None:
        check_output(output, inputs)
    if reliability is not None:
        check_output(reliability, [*inputs, *([output] if output is not None else [])])
    reports = evaluate_tag_files(gold, predictions, chosen, quiet)
    if reliability is not None:
        draw_reliability(reliability, reports)
    emit("evaluate-words", {part: report.to_json() for part, report in reports.items()}, json, output)
    if not json:
        show(*word_tables(reports))
        say(*word_notes(reports))
