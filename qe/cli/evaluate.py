"""`qe evaluate`: score predictions against gold labels: intervals, significance."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._application import Application
from qe.cli._buckets import BucketOptions
from qe.cli._common import emit, group_files, groups
from qe.cli._options import (
    INPUT,
    TESTS,
    Bands,
    Baseline,
    Bucket,
    Column,
    Corpus,
    Correct,
    Family,
    Gold,
    GoldColumn,
    Group,
    Json,
    LowerIsBetter,
    Margin,
    Quiet,
    Resamples,
    input_option,
    output_option,
    seed_option,
    test_option,
)
from qe.cli._progress import progress_bar
from qe.cli._word_tags import words

if TYPE_CHECKING:
    from qe.data.score_files import ScoreFile
    from qe.evaluation.bayes import BayesianComparison
    from qe.evaluation.evaluate import Report

app = Application(default="evaluate")
_oracle_option = partial(typer.Option, rich_help_panel="oracles")


@app.command()
def evaluate(
    gold: Gold,
    predictions: Annotated[
        list[str] | None,
        input_option(metavar="[NAME=]FILE...", help="Predictions of each system."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="[[NAME=]FILE...]", help="More systems.", rich_help_panel=INPUT),
    ] = None,
    column: Column = None,
    gold_column: GoldColumn = None,
    lower_is_better: LowerIsBetter = False,
    documents: Annotated[
        Path | None,
        input_option(
            metavar="FILE",
            help="The document of each line: documents are scored, by the means of their segments.",
        ),
    ] = None,
    scale_low: Annotated[float | None, input_option(help="Lowest label; those below are errors.")] = None,
    scale_high: Annotated[float | None, input_option(help="Highest label; those above are errors.")] = None,
    baseline: Baseline = None,
    test: Annotated[
        str,
        test_option(
            metavar="ar|bootstrap|win-ratio|tukey|scheffe",
            help="Approximate randomization, paired bootstrap (win-ratio: Koehn 2004), or all at once.",
        ),
    ] = "ar",
    samples: Resamples = None,
    seed: Annotated[int, seed_option("Seed of the resamples.", TESTS)] = 0,
    correct: Correct = "holm",
    family: Family = "metric",
    group: Group = None,
    margin: Margin = None,
    bayes: Annotated[
        bool,
        test_option("--bayes", help="Also the probability that a system is better, or within --margin."),
    ] = False,
    bayes_folds: Annotated[
        Path | None,
        test_option(metavar="FILE", help="Fold per line: --bayes compares scores of folds."),
    ] = None,
    bucket: Bucket = None,
    bands: Bands = None,
    corpus: Corpus = None,
    oracle: Annotated[
        list[str] | None,
        _oracle_option(
            metavar="hter|bleu|effort",
            help="Also score what knows the post-edits (hter, bleu) or the labels (effort); repeatable.",
        ),
    ] = None,
    target: Annotated[Path | None, _oracle_option(metavar="FILE", help="Translations by line.")] = None,
    post_edit: Annotated[Path | None, _oracle_option(metavar="FILE", help="Their post-edits.")] = None,
    target_language: Annotated[
        str | None,
        _oracle_option(metavar="CODE", help="Language of the translations, for hter."),
    ] = None,
    official: Annotated[
        bool,
        output_option("--official", help="Score as WMT12's scorer, its rounding included."),
    ] = False,
    output: Annotated[
        Path | None,
        output_option("--output", "-o", metavar="FILE", help="Also write the JSON report here."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score predictions against gold labels, with intervals and pairwise significance.

    DeltaAvg, Spearman, Pearson, Kendall, MAE, RMSE, shares of large (>= 1) and small (<= 0.1) errors, with
    95 % jackknife intervals. • marks the winners; with one --baseline the table groups the systems that beat
    it, do not differ from it, and lose to it. ? is a p-value that so few units cannot give. Oracles are what
    nobody is expected to beat (findings of WMT12, 6.4).

    Examples:

        qe evaluate --gold effort.txt --predictions svr=svr.tsv mean=mean.txt --baseline mean

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --margin mae=0.02 --bayes

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --bucket length=source.en quality

        qe evaluate --gold effort.txt --predictions svr.tsv --documents documents.txt

        qe evaluate --gold effort.txt --predictions svr.tsv --oracle hter --target mt.es --post-edit pe.es
        --target-language es
    """
    from features.basics.errors import InputError
    from features.storage.files import read_lines
    from features.storage.outputs import check_output
    from qe.data.dataset import LabelScale
    from qe.data.score_files import read_scores, same_segments

    systems = _systems([*(predictions or ()), *(more or ())], column)
    if not (systems or oracle):
        raise InputError("nothing to evaluate", remedy="give --predictions, or --oracle")
    if output is not None:
        given = [
            gold,
            target,
            post_edit,
            documents,
            *(file.path for file in systems.values()),
            *group_files(group).values(),
            bayes_folds,
            *BucketOptions(bucket or [], bands, corpus, None).files(),
        ]
        check_output(output, [path for path in given if path is not None])
    labels = read_scores(gold, gold_column, scale_low, scale_high)
    if documents is not None:
        if group or oracle or bucket or bayes_folds is not None or official:
            raise InputError(
                "--documents makes documents the units",
                remedy="leave out --group, --bucket, --oracle, --bayes-folds and --official",
            )
        from qe.systems.scored_documents import by_document

        labels, systems = by_document(labels, systems, list(read_lines(documents)), documents)
    same_segments(labels, systems)
    upwards = not lower_is_better if labels.upwards is None else labels.upwards
    scale = LabelScale(gold.name, scale_low, scale_high, upwards, labels.classes)
    if bayes_folds is not None and not bayes:
        raise InputError("--bayes-folds is for the Bayesian test", remedy="add --bayes")
    if bayes and not margin:
        raise InputError(
            "--bayes needs a region of practical equivalence", remedy="give --margin METRIC=MARGIN"
        )
    if official:
        if baseline or group or oracle or margin or bucket:
            raise InputError(
                "--official only scores",
                remedy="leave out --baseline, --group, --oracle, --margin and --bucket",
            )
        _official(labels, systems, scale.sign, json, output)
        return
    from qe.cli._oracles import OracleOptions, oracles_json, scored_oracles

    options = OracleOptions(oracle or (), target, post_edit, target_language)
    oracles = scored_oracles(options, labels, scale, groups(group or []), samples, seed)
    if not systems:
        content: dict[str, Any] = {"systems": {}, "comparisons": []} | oracles_json(oracles, {})
        emit("evaluate", content, json, output)
        if not (json or quiet):
            _print_oracles(content)
        return
    from math import nan

    from qe.evaluation.evaluate import evaluate as evaluate_systems
    from qe.evaluation.evaluate import metrics_of
    from qe.statistics.equivalence import margins

    text = None if target is None else ("translation", list(read_lines(target)))
    own = [scale.sign * file.scores for file in systems.values() if not file.ranks_only]
    parts = BucketOptions(bucket or [], bands, corpus, text, own).read()
    probabilities = (
        _bayes(labels, systems, scale.sign, margin or [], bayes_folds, group or [], seed) if bayes else []
    )
    names: Any = {"test": test, "correction": correct, "family": family}
    with progress_bar(quiet) as progress:
        report = evaluate_systems(
            labels.scores,
            {name: (scale.sign if file.ranks_only else 1) * file.scores for name, file in systems.items()},
            scale,
            baselines=baseline or [],
            metrics=[*metrics_of(scale, labels.scores), "ranking_accuracy"] if documents else None,
            samples=samples,
            seed=seed,
            groups=groups(group or []) if documents is None else {"document": range(len(labels.scores))},
            rankings=[name for name, file in systems.items() if file.ranks_only],
            margins=margins(margin or [], metrics_of(scale)),
            buckets=parts,
            progress=progress,
            **names,
        )
    delta_avg = {name: scores.metrics.get("delta_avg", nan) for name, scores in report.systems.items()}
    content = report.to_json() | oracles_json(oracles, delta_avg)
    if bayes:
        content["bayesian"] = [one.to_json() for one in probabilities]
    emit("evaluate", content, json, output)
    if not json:
        _print_tables(report)
        _print_buckets(report)
        _print_bayes(probabilities)
        _print_oracles(content)


def _print_buckets(report: "Report") -> None:
    from qe.display.terminal import say, show
    from qe.evaluation.bucket_table import bucket_notes, bucket_tables

    if report.buckets is not None:
        show(*bucket_tables(report.buckets))
        say(*bucket_notes(report.buckets))


def _bayes(
    labels: "ScoreFile",
    systems: "dict[str, ScoreFile]",
    sign: float,
    margin: list[str],
    folds: Path | None,
    group: list[str],
    seed: int,
) -> "list[BayesianComparison]":
    from features.basics.errors import InputError
    from features.storage.files import read_lines
    from qe.evaluation.bayes import bayesian_comparisons
    from qe.evaluation.evaluate import DEFAULT_METRICS
    from qe.statistics.equivalence import margins

    columns = {name: sign * file.scores for name, file in systems.items() if not file.ranks_only}
    if len(columns) < len(systems):
        raise InputError("a submission of ranks has no scores to compare", location="--bayes")
    lines = None if folds is None else list(read_lines(folds))
    ropes = margins(margin, DEFAULT_METRICS)
    return bayesian_comparisons(
        sign * labels.scores, columns, ropes, folds=lines, groups=groups(group), seed=seed
    )


def _print_bayes(probabilities: "list[BayesianComparison]") -> None:
    from qe.display.terminal import say
    from qe.evaluation.bayes import bayesian_lines

    say(*bayesian_lines(probabilities))


def _systems(arguments: list[str], column: str | None) -> "dict[str, ScoreFile]":
    from features.basics.assignments import named_file, once
    from qe.data.score_files import read_scores

    named = [named_file(argument) for argument in arguments]
    files = [read_scores(path, column, ranks_suffice=True) for _, path in named]
    pairs = ((name or file.name, file) for (name, _), file in zip(named, files, strict=True))
    return once(pairs, "--predictions", "NAME=FILE")


def _official(
    gold: "ScoreFile",
    systems: "dict[str, ScoreFile]",
    sign: float,
    json: bool,
    output: Path | None,
) -> None:
    from dataclasses import replace

    from qe.evaluation.official_scorer import official_lines, official_scores

    submissions = {name: replace(file.submission(sign), method=name) for name, file in systems.items()}
    scores = {name: official_scores(gold.submission(sign), given) for name, given in submissions.items()}
    systems_json = {name: score.to_json() for name, score in scores.items()}
    emit("evaluate", {"systems": systems_json, "comparisons": []}, json, output)
    if not json:
        typer.echo("".join(official_lines(submissions[name], scores[name]) for name in scores), nl=False)


def _print_oracles(content: dict[str, Any]) -> None:
    from qe.display.terminal import show
    from qe.evaluation.oracle_table import best_system, oracle_table

    if "oracles" in content:
        best = best_system({name: scores["delta_avg"] for name, scores in content["systems"].items()})
        show(oracle_table(content["oracles"], best))


def _print_tables(report: "Report") -> None:
    from qe.display.terminal import say, show
    from qe.evaluation.report_tables import notes, report_tables

    show(*report_tables(report))
    say(*notes(report))


app.command()(words)
