"""`qe evaluate`: score predictions against gold labels: intervals, significance."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._buckets import HELP as BUCKET
from qe.cli._buckets import BucketOptions
from qe.cli._common import (
    MOST_SAMPLES,
    Json,
    Quiet,
    group_files,
    groups,
    progress_bar,
    seed_option,
    table_console,
)

if TYPE_CHECKING:
    from qe.data.score_files import ScoreFile
    from qe.evaluation.bayes import BayesianComparison
    from qe.evaluation.evaluate import Report

Number = Annotated[float | None, typer.Option(help="Declared label scale; labels outside are errors.")]


class Correction(StrEnum):
    """Corrections for many comparisons."""

    none, bonferroni, holm, bh = "none", "bonferroni", "holm", "bh"


class Test(StrEnum):
    """Significance tests."""

    ar, bootstrap, tukey = "ar", "bootstrap", "tukey"


class WordMetric(StrEnum):
    """What thresholds of word-level probabilities are best by."""

    mcc, f1_mult = "mcc", "f1_mult"


class Family(StrEnum):
    """Which comparisons are corrected together."""

    metric, table, all = "metric", "table", "all"


def evaluate(
    gold: Annotated[Path, typer.Option(help="Gold labels: one per line, a table, or a WMT12 submission.")],
    predictions: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="A system's predictions; repeat for more systems."),
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[[NAME=]FILE]...", help="More systems.")
    ] = None,
    official: Annotated[
        bool, typer.Option("--official", help="Score as the WMT12 scorer did, its rounding included.")
    ] = False,
    baseline: Annotated[
        list[str] | None, typer.Option(help="Compare the others with this system only; may be repeated.")
    ] = None,
    scale_low: Number = None,
    scale_high: Number = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="Labels such as HTER.")] = False,
    column: Annotated[str | None, typer.Option(help="Column of prediction tables.")] = None,
    gold_column: Annotated[str | None, typer.Option(help="Column of a gold table.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="One unit (document) per line: resample these, not segments. Repeat it "
            "(document=F, judge=F) for differences that must show with each kind as the unit.",
        ),
    ] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(
            help="Also score an oracle: hter, bleu (they know the post-edits), effort (the labels)."
        ),
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Translations, for oracles; one per line.")] = None,
    post_edit: Annotated[Path | None, typer.Option(help="Their post-edits, for oracles.")] = None,
    target_language: Annotated[
        str | None, typer.Option(help="ISO 639 code of the translations, for the oracle hter.")
    ] = None,
    test: Annotated[
        Test, typer.Option(help="Approximate randomization, paired bootstrap, or randomized Tukey HSD.")
    ] = Test.ar,
    samples: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST_SAMPLES,
            help="Resamples; 0: no intervals and no tests. (default: what the comparisons need)",
        ),
    ] = None,
    seed: Annotated[int, seed_option("Seed of the resamples.")] = 0,
    correct: Annotated[Correction, typer.Option(help="Correction for many comparisons.")] = Correction.holm,
    family: Annotated[
        Family,
        typer.Option(help="What is corrected together: pairs by one metric, by all, everything shown."),
    ] = Family.metric,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=MARGIN",
            help="Also test whether systems differ by less than this (equivalence); repeat it for more "
            "metrics.",
        ),
    ] = None,
    bucket: Annotated[list[str] | None, typer.Option(metavar="KIND[=FILE]", help=BUCKET)] = None,
    bands: Annotated[
        int | None, typer.Option(min=2, help="Bands of --bucket where it is by numbers. (default: 4)")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="With --bucket rare: words that it has at most once are rare. (default: the test set)"
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Word-level tags: files of OK and BAD, or of P(BAD).")
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(help="With --words: tags (gap, word, gap, ...; default), words, gaps or source."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="With --words: BAD is what has at least this P(BAD).", min=0, max=1)
    ] = None,
    tune: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="With --words: P(BAD) of a development set, to choose by."),
    ] = None,
    tune_gold: Annotated[Path | None, typer.Option(help="Gold tags of the development set.")] = None,
    folds: Annotated[
        int | None, typer.Option(help="With --words: thresholds chosen inside so many folds.", min=2)
    ] = None,
    thresholds_by: Annotated[
        WordMetric | None,
        typer.Option(help="With --tune or --folds: what thresholds are best by. (default: mcc)"),
    ] = None,
    source_gold: Annotated[
        Path | None, typer.Option(help="With --words: gold tags of source words, beside those of the target.")
    ] = None,
    source_predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", help="Source words of a system whose own file does not hold them."
        ),
    ] = None,
    reliability: Annotated[
        Path | None, typer.Option(help="With --words: draw how reliable probabilities are (PNG).")
    ] = None,
    bayes: Annotated[
        bool,
        typer.Option(
            "--bayes",
            help="Also give the probability that a system is better, or within --margin, by a Bayesian test.",
        ),
    ] = False,
    bayes_folds: Annotated[
        Path | None,
        typer.Option(help="Fold of cross-validation per line: --bayes compares scores of folds."),
    ] = None,
    json: Json = False,
    output: Annotated[Path | None, typer.Option(help="Also write the JSON report to this file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Score predictions against gold labels, with intervals and pairwise significance.

    DeltaAvg, Spearman, Pearson, Kendall, MAE, RMSE, shares of large (>= 1) and small (<= 0.1) errors and the
    prediction interval, with 95 % jackknife intervals. • marks the winners; with one --baseline the table
    groups the systems that beat it, do not differ from it, and lose to it. ? is a p-value that so few units
    cannot give.

    Oracles are what nobody is expected to beat: segments ranked by HTER or BLEU against their post-edits, and
    the same mapped to the labels (findings of WMT12, 6.4).

    Examples:

        qe evaluate --gold effort.txt --predictions svr=svr.tsv mean=mean.txt --baseline mean

        qe evaluate --gold effort.txt --predictions svr.tsv --oracle hter --target mt.es --post-edit pe.es
        --target-language es

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --margin mae=0.02

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --margin mae=0.02 --bayes

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --bucket length=source.en
        --bucket quality

        qe evaluate --words --gold dev.tags --predictions a=a.tags b=b.probs --threshold 0.5

        qe evaluate --words --gold dev.tags --source-gold dev.src_tags --predictions model=scores.jsonl
        --reliability reliability.png
    """
    from features.basics.errors import InputError
    from features.storage.files import read_lines
    from features.storage.outputs import check_output
    from qe.data.dataset import LabelScale
    from qe.data.score_files import read_scores, same_segments

    given_words: dict[str, object] = {
        "--layout": layout,
        "--threshold": threshold,
        "--tune": tune,
        "--tune-gold": tune_gold,
        "--thresholds-by": thresholds_by,
        "--source-gold": source_gold,
        "--source-predictions": source_predictions,
        "--reliability": reliability,
    }
    if words:
        others: dict[str, object] = {
            "--official": official, "--column": column, "--gold-column": gold_column, "--group": group,
            "--oracle": oracle, "--target": target, "--post-edit": post_edit, "--scale-low": scale_low,
            "--scale-high": scale_high, "--lower-is-better": lower_is_better,
            "--target-language": target_language, "--test": test != Test.ar, "--margin": margin,
            "--bayes": bayes, "--bayes-folds": bayes_folds, "--bucket": bucket, "--bands": bands,
            "--corpus": corpus,
        }  # fmt: skip
        _apart(others, "does not go with --words")
        _words(
            gold,
            [*(predictions or []), *(more or [])],
            json,
            output,
            quiet,
            reliability,
            layout=layout or "tags",
            threshold=threshold,
            tune=tune or (),
            tune_gold=tune_gold,
            folds=folds,
            metric=(thresholds_by or WordMetric.mcc).value,
            source=source_gold,
            sources=source_predictions or (),
            baselines=baseline or (),
            samples=samples,
            seed=seed,
            correction=correct.value,
            family=family.value,
        )
        return
    _apart({**given_words, "--folds": folds}, "goes with --words")
    systems = _systems([*(predictions or []), *(more or [])], column)
    if not (systems or oracle):
        raise InputError("nothing to evaluate", remedy="give --predictions, or --oracle")
    if output is not None:
        given = [
            gold,
            target,
            post_edit,
            *(file.path for file in systems.values()),
            *group_files(group),
            bayes_folds,
            *BucketOptions(bucket or [], bands, corpus, None).files(),
        ]
        check_output(output, [path for path in given if path is not None])
    labels = read_scores(gold, gold_column, scale_low, scale_high)
    same_segments(labels, systems)
    scale = LabelScale(gold.name, scale_low, scale_high, not lower_is_better)
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
    oracles = scored_oracles(options, labels, scale, samples, seed)
    if not systems:
        content: dict[str, Any] = {"systems": {}, "comparisons": []} | oracles_json(oracles, {})
        _emit(content, json, output)
        if not (json or quiet):
            _print_oracles(content)
        return
    from qe.evaluation.evaluate import DEFAULT_METRICS
    from qe.evaluation.evaluate import evaluate as evaluate_systems
    from qe.statistics.equivalence import margins

    text = None if target is None else ("translation", list(read_lines(target)))
    own = [scale.sign * file.scores for file in systems.values() if not file.ranks_only]
    parts = BucketOptions(bucket or [], bands, corpus, text, own).read()
    probabilities = _bayes(labels, systems, scale.sign, margin or [], bayes_folds, seed) if bayes else []
    with progress_bar(quiet) as progress:
        report = evaluate_systems(
            labels.scores,
            {name: (scale.sign if file.ranks_only else 1) * file.scores for name, file in systems.items()},
            scale,
            baselines=baseline or [],
            samples=samples,
            seed=seed,
            test=test.value,
            correction=correct.value,
            family=family.value,
            groups=groups(group or []),
            rankings=[name for name, file in systems.items() if file.ranks_only],
            margins=margins(margin or [], DEFAULT_METRICS),
            buckets=parts,
            progress=progress,
        )
    delta_avg = {name: report.score(name, "delta_avg") for name in systems}
    content = report.to_json() | oracles_json(oracles, delta_avg)
    if bayes:
        content["bayesian"] = [one.to_json() for one in probabilities]
    _emit(content, json, output)
    if not json:
        _print_tables(report)
        _print_buckets(report)
        _print_bayes(probabilities)
        _print_oracles(content)


def _print_buckets(report: "Report") -> None:
    from qe.evaluation.bucket_table import bucket_notes, bucket_tables

    if report.buckets is not None:
        for table in bucket_tables(report.buckets):
            table_console().print(table)
        for line in bucket_notes(report.buckets):
            table_console().print(line, highlight=False, markup=False)


def _apart(given: dict[str, object], rule: str) -> None:
    from features.basics.errors import InputError

    for option, value in given.items():
        if value is not None and value is not False and value != []:
            raise InputError(f"{option} {rule}", remedy="leave it out")


def _words(
    gold: Path,
    systems: list[str],
    json: bool,
    output: Path | None,
    quiet: bool,
    reliability: Path | None,
    **options: Any,
) -> None:
    from features.basics.errors import InputError
    from features.storage.outputs import check_output
    from qe.cli._words import WordOptions, draw_reliability, evaluate_tag_files, word_notes, word_tables

    if not systems:
        raise InputError("nothing to evaluate", remedy="give --predictions")
    chosen = WordOptions(**options)
    arguments = [*systems, *chosen.tune, *chosen.sources]
    named = [Path(text if Path(text).exists() else text.partition("=")[2]) for text in arguments]
    inputs = [path for path in (gold, chosen.tune_gold, chosen.source, *named) if path is not None]
    if output is not None:
        check_output(output, inputs)
    if reliability is not None:
        check_output(reliability, [*inputs, *([output] if output is not None else [])])
    reports = evaluate_tag_files(gold, systems, chosen, quiet)
    if reliability is not None:
        draw_reliability(reliability, reports)
    _emit({part: report.to_json() for part, report in reports.items()}, json, output)
    if not json:
        for table in word_tables(reports):
            table_console().print(table)
        for line in word_notes(reports):
            table_console().print(line, highlight=False, markup=False)


def _bayes(
    labels: "ScoreFile",
    systems: "dict[str, ScoreFile]",
    sign: float,
    margin: list[str],
    folds: Path | None,
    seed: int,
) -> "list[BayesianComparison]":
    from features.basics.errors import InputError
    from features.storage.files import read_lines
    from qe.evaluation.bayes import bayesian_comparisons
    from qe.evaluation.evaluate import DEFAULT_METRICS
    from qe.statistics.equivalence import margins

    columns = {name: sign * file.scores for name, file in systems.items() if not file.ranks_only}
    if len(columns) < len(systems):
        raise InputError("a submission of ranks has no scores to compare", where="--bayes")
    lines = None if folds is None else list(read_lines(folds))
    ropes = margins(margin, DEFAULT_METRICS)
    return bayesian_comparisons(sign * labels.scores, columns, ropes, folds=lines, seed=seed)


def _print_bayes(probabilities: "list[BayesianComparison]") -> None:
    from qe.evaluation.bayes import bayesian_lines

    for line in bayesian_lines(probabilities):
        table_console().print(line, highlight=False)


def _systems(arguments: list[str], column: str | None) -> "dict[str, ScoreFile]":
    """NAME=FILE, or FILE named by its method or its file name."""
    from features.basics.errors import InputError
    from qe.data.score_files import read_scores

    systems: dict[str, ScoreFile] = {}
    for argument in arguments:
        name, equals, rest = argument.partition("=")
        named = bool(equals) and not Path(argument).exists()
        file = read_scores(Path(rest if named else argument), column, ranks_suffice=True)
        name = name if named else file.name
        if name in systems:
            raise InputError(
                f"two systems are named '{name}' ({systems[name].path}, {file.path})", remedy="use NAME=FILE"
            )
        systems[name] = file
    return systems


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
    _emit({"systems": systems_json, "comparisons": []}, json, output)
    if not json:
        typer.echo("".join(official_lines(submissions[name], scores[name]) for name in scores), nl=False)


def _emit(content: dict[str, object], to_stdout: bool, output: Path | None) -> None:
    import json

    from features.storage.files import atomic_file

    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(text, "utf-8")
    if to_stdout:
        typer.echo(text, nl=False)


def _print_oracles(content: dict[str, Any]) -> None:
    from qe.evaluation.oracle_table import best_system, oracle_table

    if "oracles" in content:
        best = best_system({name: scores["delta_avg"] for name, scores in content["systems"].items()})
        table_console().print(oracle_table(content["oracles"], best))


def _print_tables(report: object) -> None:
    from qe.evaluation.evaluate import Report
    from qe.evaluation.table import notes, report_tables

    assert isinstance(report, Report)
    console = table_console()
    for table in report_tables(report):
        console.print(table)
    for line in notes(report):
        console.print(line, highlight=False)
