"""`qe evaluate`: score predictions against gold labels: intervals, significance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError, known_name
from features.basics.progress import Progress
from qe.cli.compare import BucketOptions
from qe.cli.shared.application import Application
from qe.cli.shared.options import WordOptions
from qe.cli.shared.printing import Result, Verbatim, groups
from qe.statistics.settings import SignificanceSettings

if TYPE_CHECKING:
    from qe.data.dataset import LabelScale
    from qe.data.score_files import ScoreFile
    from qe.evaluation.oracles import Oracle, PostEdited
    from qe.statistics.bayesian import BayesianComparison


@dataclass(frozen=True)
class OracleOptions:
    """Oracles that are scored too.

    oracles:
      --oracle hter|bleu|effort  Also score what knows the post-edits (hter, bleu) or the labels (effort).
          Repeatable.
      --target FILE  Translations, one per line.
      --post-edit FILE  Their post-edits.
    """

    oracle: list[str] | None = None
    target: Path | None = None
    post_edit: Path | None = None
    target_language: str | None = None

    def scored(
        self, gold: "ScoreFile", scale: "LabelScale", groups: Mapping[str, list[str]] | None,
        samples: int | None, seed: int,
    ) -> "dict[str, Oracle]":  # fmt: skip
        from qe.evaluation.oracles import ORACLES, oracle

        names = self.oracle or ()
        for name in names:
            known_name("oracle", name, ORACLES)
        texts = self._texts(gold)
        return {
            name: oracle(name, gold.scores, scale, texts, groups=groups, samples=samples, seed=seed)
            for name in names
        }

    def _texts(self, gold: "ScoreFile") -> "PostEdited | None":
        from features.text.tokenizer import Tokenizer
        from qe.data.reading import Reading
        from qe.evaluation.oracles import PostEdited

        names = [name for name in self.oracle or () if name != "effort"]
        if not names:
            return None
        if self.target is None or self.post_edit is None:
            problem = f"the oracle {names[0]} compares translations with post-edits"
            raise InputError(problem, remedy="give --target and --post-edit")
        if "hter" in names and self.target_language is None:
            raise InputError("the oracle hter tokenizes the translations", remedy="give --target-language")
        columns = []
        for path in (self.target, self.post_edit):
            lines = Reading(Path()).lines(path).texts
            if len(lines) != len(gold.scores):
                counts = f"{len(lines)} lines, but {len(gold.scores)} gold labels in {gold.path}"
                raise InputError(counts, location=path)
            columns.append(lines)
        return PostEdited(columns[0], columns[1], Tokenizer(self.target_language or "en", normalise=False))


evaluate = Application(default="evaluate")


@evaluate.command("evaluate")
def evaluate_predictions(
    gold: Path,
    *,
    oracles: OracleOptions,
    buckets: BucketOptions,
    progress: Progress,
    predictions: list[str] | None = None,
    files: list[str] | None = None,
    column: str | None = None,
    gold_column: str | None = None,
    lower_is_better: bool = False,
    documents: Path | None = None,
    scale_low: float | None = None,
    scale_high: float | None = None,
    baseline: list[str] | None = None,
    significance: SignificanceSettings,
    group: list[str] | None = None,
    margin: list[str] | None = None,
    bayes: bool = False,
    bayes_folds: Path | None = None,
    official: bool = False,
    output: Path | None = None,
    quiet: bool = False,
) -> Result:
    """Score predictions against gold labels, with intervals and pairwise significance tests.

    DeltaAvg, Spearman, Pearson, Kendall, MAE, RMSE, shares of large (>= 1) and small (<= 0.1) errors, with
    95 % jackknife intervals. • marks the winners; with one --baseline the table groups the systems that are
    better, not different, and worse. ? is a p-value that so few units cannot give. Oracles are upper bounds
    that no system is expected to beat (findings of WMT12, 6.4).

    Examples:

        qe evaluate --gold effort.txt --predictions svr=svr.tsv mean=mean.txt --baseline mean

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --margin mae=0.02 --bayes

        qe evaluate --gold effort.txt --predictions svr.tsv ridge.tsv --bucket length=source.en quality

        qe evaluate --gold effort.txt --predictions svr.tsv --documents documents.txt

        qe evaluate --gold effort.txt --predictions svr.tsv --oracle hter --target mt.es --post-edit pe.es
        --target-language es

    input:
      --predictions [NAME=]FILE...  Predictions of each system.
      files [[NAME=]FILE...]  More systems.
      --documents FILE  The document of each line: documents are scored, by the means of their segments.
      --scale-low X  Lowest possible label; a smaller one is an error.
      --scale-high X  Highest possible label; a larger one is an error.

    tests:
      --bayes  Also the probability that a system is better, or within --margin.
      --bayes-folds FILE  Fold per line: --bayes compares the scores of folds.

    output:
      --official  Score as the official scorer of WMT12, including its rounding.
      -o, --output FILE  Also write the JSON report to this file.
    """
    from features.storage.files import read_lines
    from qe.data.dataset import LabelScale
    from qe.data.score_files import read_scores, same_segments
    from qe.evaluation.evaluate import evaluate as evaluate_systems
    from qe.evaluation.evaluate import metrics_of
    from qe.statistics.ranks import margins

    systems = _systems([*(predictions or ()), *(files or ())], column)
    if not (systems or oracles.oracle):
        raise InputError("nothing to evaluate", remedy="give --predictions, or --oracle")
    labels = read_scores(gold, gold_column, scale_low, scale_high)
    if documents is not None:
        if group or oracles.oracle or buckets.bucket or bayes_folds is not None or official:
            remedy = "leave out --group, --bucket, --oracle, --bayes-folds and --official"
            raise InputError("--documents makes documents the units", remedy=remedy)
        from qe.systems.documents import by_document

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
        if baseline or group or oracles.oracle or margin or buckets.bucket:
            problem = "--official only scores"
            raise InputError(problem, remedy="leave out --baseline, --group, --oracle, --margin and --bucket")
        return _official(labels, systems, scale.sign, output)
    units = groups(group)
    scored = oracles.scored(labels, scale, units, significance.samples, significance.seed)
    content: dict[str, Any] = {"systems": {}, "comparisons": []}
    shown: list[Any] = []
    delta_avg: dict[str, float] = {}
    if systems:
        target = oracles.target
        text = None if target is None else ("translation", list(read_lines(target)))
        columns = [scale.sign * file.scores for file in systems.values() if not file.ranks_only]
        bands = buckets.read(text, columns)
        bayesian = []
        if bayes:
            bayesian = _bayes(labels, systems, scale.sign, margin, bayes_folds, units, significance.seed)
        report = evaluate_systems(
            labels.scores,
            {name: (scale.sign if f.ranks_only else 1) * f.scores for name, f in systems.items()},
            scale,
            significance,
            baselines=baseline or [],
            buckets=bands,
            progress=progress,
            metrics=[*metrics_of(scale, labels.scores), "ranking_accuracy"] if documents else None,
            groups=units if documents is None else {"document": range(len(labels.scores))},
            rankings=[name for name, file in systems.items() if file.ranks_only],
            margins=margins(margin or [], metrics_of(scale)),
        )
        delta_avg = {name: scores.metrics.get("delta_avg", nan) for name, scores in report.systems.items()}
        content = report.to_json() | ({"bayesian": bayesian} if bayes else {})
        shown = _parts(report, bayesian)
    if scored:
        from qe.evaluation.tables import best_system, oracle_table

        content["oracles"] = {name: oracle.to_json(delta_avg) for name, oracle in scored.items()}
        best = best_system({name: figures["delta_avg"] for name, figures in content["systems"].items()})
        shown += [oracle_table(content["oracles"], best)] if systems or not quiet else []
    return Result("evaluate", content, shown, file=output)


def _parts(report: Any, bayesian: "list[BayesianComparison]") -> list[Any]:
    from qe.evaluation.tables import bucket_notes, bucket_tables, notes, report_tables
    from qe.statistics.bayesian import bayesian_lines

    shown = [*report_tables(report), *notes(report)]
    if report.buckets is not None:
        shown += [*bucket_tables(report.buckets), *bucket_notes(report.buckets)]
    return [*shown, *bayesian_lines(bayesian)]


def _bayes(
    labels: "ScoreFile", systems: "dict[str, ScoreFile]", sign: float, margin: list[str] | None,
    folds: Path | None, units: dict[str, list[str]] | None, seed: int,
) -> "list[BayesianComparison]":  # fmt: skip
    from features.storage.files import read_lines
    from qe.evaluation.evaluate import DEFAULT_METRICS
    from qe.statistics.bayesian import bayesian_comparisons
    from qe.statistics.ranks import margins

    columns = {name: sign * file.scores for name, file in systems.items() if not file.ranks_only}
    if len(columns) < len(systems):
        raise InputError("a submission of ranks has no scores to compare", location="--bayes")
    lines = None if folds is None else list(read_lines(folds))
    regions = margins(margin or [], DEFAULT_METRICS)
    return bayesian_comparisons(sign * labels.scores, columns, regions, folds=lines, groups=units, seed=seed)


def _systems(arguments: list[str], column: str | None) -> "dict[str, ScoreFile]":
    from features.basics.assignments import named_file, once
    from qe.data.score_files import read_predictions

    named = [named_file(argument) for argument in arguments]
    files = [read_predictions(path, column, ranks_suffice=True) for _, path in named]
    pairs = ((name or file.name, file) for (name, _), file in zip(named, files, strict=True))
    return once(pairs, "--predictions", "NAME=FILE")


def _official(gold: "ScoreFile", systems: "dict[str, ScoreFile]", sign: float, output: Path | None) -> Result:
    from qe.evaluation.official_scorer import official_lines, official_scores

    submissions = {name: replace(file.submission(sign), method=name) for name, file in systems.items()}
    scores = {name: official_scores(gold.submission(sign), one) for name, one in submissions.items()}
    content = {"systems": {name: score.to_json() for name, score in scores.items()}, "comparisons": []}
    lines = (official_lines(submissions[name], scores[name]).removesuffix("\n") for name in scores)
    return Result("evaluate", content, map(Verbatim, lines), file=output)


@evaluate.command()
def words(
    gold: Path,
    predictions: list[str],
    options: WordOptions,
    progress: Progress,
    reliability: Path | None = None,
    output: Path | None = None,
) -> Result:
    """Score tags of words, gaps and source words against gold tags: MCC, F1, calibration, significance.

    Probabilities become tags by a threshold: one that is given, or one that is chosen on other segments.

    Examples:

        qe evaluate words --gold dev.tags --predictions a=a.tags b=b.probs --threshold 0.5

        qe evaluate words --gold dev.tags --source-gold dev.src_tags --predictions model=scores.jsonl
        --reliability reliability.png

    input:
      --gold FILE  Gold tags: OK and BAD.
      --predictions [NAME=]FILE...  Tags or P(BAD) of each system, or the output of
          `qe score --tokens` (JSONL).

    output:
      --reliability FILE  Plot of the calibration of probabilities (PNG, SVG or PDF).
      -o, --output FILE  Also write the JSON report to this file.
    """
    from qe.cli._words import check_options, evaluate_tag_files
    from qe.evaluation.tables import word_notes, word_tables

    check_options(options)
    reports = evaluate_tag_files(gold, predictions, options, progress)
    if reliability is not None:
        from qe.display.charts import save
        from qe.evaluation.plots import reliability_plot

        bins = {part: report.reliability for part, report in reports.items() if report.reliability}
        if not bins:
            raise InputError("no system gives probabilities", location="--reliability", remedy="leave it out")
        save(reliability_plot(bins), reliability)
    parts = [*word_tables(reports), *word_notes(reports)]
    return Result("evaluate-words", reports, parts, file=output)
