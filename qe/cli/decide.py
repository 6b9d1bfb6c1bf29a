"""`qe triage`: find thresholds to publish or edit, by costs or by risk.
`qe promote`: promote a challenger if it is better than the champion.
`qe suggest`: choose which segments to annotate next.
`qe robustness`: test a model on perturbed translations.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli._log import TextLog
from qe.cli.shared.options import ExperimentOptions, HeaderOptions, Positive, TableOptions
from qe.cli.shared.printing import Result, tell_refused
from qe.display.numbers import number
from qe.statistics.settings import MAX_SAMPLES, Samples, Seed

if TYPE_CHECKING:
    from features.basics.array_types import FloatArray
    from qe.data.dataset import LabelScale
    from qe.data.score_files import ScoreFile
    from qe.production.promotion import Decision


def triage(
    gold: Path | None = None,
    predictions: Path | None = None,
    costs: Path | None = None,
    bad: str | None = None,
    risk: float = 0.05,
    confidence: float = 0.9,
    domains: Path | None = None,
    documents: Path | None = None,
    gold_column: str | None = None,
    column: str | None = None,
    model: str | None = None,
    scale_low: float | None = None,
    scale_high: float | None = None,
    lower_is_better: bool = False,
    plot: Path | None = None,
    samples: Samples = 1000,
    seed: Seed = 0,
    quiet: bool = False,
) -> Result:
    """Find the thresholds with the lowest cost, and what they would save and let through.

    The cost table (YAML; per segment, in any one unit): `good`, the label from which a segment may be
    published; `publish_bad`, the cost of publishing a worse one (`publish_good` otherwise, 0 by default);
    `post_edit` and `post_edit_worst`, of editing the best and the worst segment; `retranslate`.

    With --bad in place of --costs: the threshold that publishes most while, with the stated confidence, at
    most --risk of the published segments are bad (Learn then Test). Predictions must be of segments that the
    model has not learned from: those of a test set or, with --model alone, its out-of-fold predictions.

    Exit code 1 if one action for all segments costs no more, if all segments get the same action, or if there
    is no threshold of that risk.

    Examples:

        qe triage --gold effort.txt --predictions scores.tsv --costs costs.yaml --plot triage.png

        qe triage --model output/demo/model --bad 'effort<3' --risk 0.05 --confidence 0.9

    input:
      -g, --gold FILE  True labels: one per line, or a column of a table.
      -p, --predictions FILE  Predictions for the same segments.
      --costs FILE  The cost table.
      --bad LABEL>X  Which labels are bad: 'hter>0.3', 'da<60'. The name is that of the gold column.
      --risk SHARE  With --bad: highest share of bad segments among the published ones.
      --confidence P  With --bad: probability that the threshold keeps to the risk.
      --domains FILE  With --bad: the domain (or engine) of each line; each gets a threshold.
      --documents FILE  With --bad: the document of each line; labels of a document count as one.
      -m, --model MODEL  Take the range and direction of the label from the model; scores of other models are
          refused.
      --scale-low X  Lowest label. (default: that of the model, or 1 of 1 to 5)
      --scale-high X  Highest label. (default: that of the model, or 5 of 1 to 5)

    tests:
      --samples N  Bootstrap samples.

    output:
      --plot FILE  Plot of the trade-off (PNG, SVG or PDF).
    """
    if bad is None and (domains, documents) != (None, None):
        raise InputError("--domains and --documents go with --bad")
    if bad is not None and ((costs, scale_low, scale_high) != (None, None, None) or lower_is_better):
        raise InputError("--costs, --scale-low, --scale-high and --lower-is-better do not go with --bad")
    if bad is not None:
        from qe.production.risk import triage as by_risk

        control = by_risk(
            *_test_data(bad, gold, predictions, gold_column, column, model),
            bad=bad, risk=risk, confidence=confidence, domains=_lines(domains), documents=_lines(documents),
            samples=samples, seed=seed,
        )  # fmt: skip
        if plot is not None:
            from qe.display.charts import save
            from qe.production.triage_plots import risk_figure

            save(risk_figure(control), plot)
        name = "triage" if "" in control.thresholds else "triage-groups"
        code = 0 if control.complete else 1
        return Result(name, control.to_json(), [control.summary()], code)
    if gold is None or predictions is None or costs is None:
        needed = {"--gold": gold, "--predictions": predictions, "--costs (or --bad)": costs}
        missing = ", ".join(name for name, path in needed.items() if path is None)
        raise InputError(f"missing {missing}", remedy="see `qe triage --help`")
    from qe.api.models import model_folder
    from qe.data.score_files import read_predictions, read_scores, same_segments
    from qe.production.triage import read_costs, trade_off, triage_tables, unusual_threshold
    from qe.production.triage import triage as find
    from qe.scoring.job_summary import check_model, record_of

    job = record_of(predictions)
    if job is not None and model is not None:
        check_model(job, predictions, model_folder(model)[1])
    table = read_costs(costs)
    scale = _scale(read_scores(gold, gold_column), model, scale_low, scale_high, lower_is_better)
    labels = read_scores(gold, gold_column, scale.low, scale.high)
    predicted = read_predictions(predictions, column)
    same_segments(labels, {predicted.name: predicted})
    decision = find(labels.scores, predicted.scores, table, scale, samples=samples, seed=seed)
    if plot is not None:
        from qe.display.charts import save
        from qe.production.triage_plots import trade_off_figure

        curve = trade_off(labels.scores, predicted.scores, table, scale, decision.retranslate, seed=seed)
        save(trade_off_figure(curve, decision), plot)
    lines = [] if job is None else [
        f"scores by {job['model']['name']}, fingerprint {job['model']['fingerprint'][:12]}"
    ]  # fmt: skip
    if note := unusual_threshold("good", table.good, labels.scores):
        TextLog("triage").tell("note", f"{costs}: {note}")
    content = {**decision.to_json(), **({} if job is None else {"model": job["model"]})}
    saves = decision.alike is None and decision.saved_share.value and decision.saved_share.value > 0
    parts = [*lines, *triage_tables(decision, scale.higher_is_better)]
    return Result("triage", content, parts, code=0 if saves else 1)


def _lines(path: Path | None) -> list[str] | None:
    from features.storage.files import read_lines

    return None if path is None else list(read_lines(path))


def _test_data(
    bad: str, gold: Path | None, predictions: Path | None, gold_column: str | None, column: str | None,
    model: str | None,
) -> "tuple[FloatArray, FloatArray]":  # fmt: skip
    from qe.api.models import model_folder
    from qe.data.score_files import read_predictions, read_scores, same_segments
    from qe.evaluation.coverage import BadLabels
    from qe.models import description
    from qe.models.training_rows import HeldOutPredictions
    from qe.scoring.job_summary import check_model, record_of

    rule = BadLabels.parse(bad)
    if model is not None:
        folder, identity = model_folder(model)
        rule.check(description.read(folder).scale)
        if gold is None and predictions is None:
            rows = HeldOutPredictions.load(folder)
            return rows.gold, rows.predicted
    if gold is None or predictions is None:
        raise InputError("no held-out labels are given", remedy="give --gold and --predictions, or --model")
    if model is not None and (job := record_of(predictions)) is not None:
        check_model(job, predictions, identity)
    labels = read_scores(gold, gold_column or rule.label or None)
    predicted = read_predictions(predictions, column)
    same_segments(labels, {predicted.name: predicted})
    return labels.scores, predicted.scores


def _scale(
    labels: "ScoreFile", model: str | None, low: float | None, high: float | None, lower_is_better: bool
) -> "LabelScale":

    from qe.api.models import model_folder
    from qe.data.dataset import LabelScale
    from qe.models import description
    from qe.production.triage import closed_scale

    if model is not None:
        scale = closed_scale(description.read(model_folder(model)[0]))
        low, high = (scale.low if low is None else low), (scale.high if high is None else high)
        return replace(scale, low=low, high=high)
    smallest, largest = float(labels.scores.min()), float(labels.scores.max())
    if low is None and high is None and (smallest < 1 or largest > 5):
        raise InputError(
            f"its labels are between {smallest:g} and {largest:g}, and the range of the label is not known",
            location=labels.path,
            remedy="give --model, or --scale-low and --scale-high",
        )
    return LabelScale(
        labels.name, 1.0 if low is None else low, 5.0 if high is None else high, not lower_is_better
    )


def promote(
    name: str,
    headers: HeaderOptions,
    data: Path | None = None,
    split: str | None = None,
    label: str = "score",
    data_root: Path | None = None,
    metric: str = "mae",
    margin: float = 0.0,
    level: float = 0.05,
    samples: Annotated[int, Interval(ge=100, le=MAX_SAMPLES)] = 10_000,
    seed: Seed = 0,
    challenger: str | None = None,
    rollback: bool = False,
    quiet: bool = False,
) -> Result:
    """Compare challenger and champion on labelled data, and promote the challenger if it is better.

    It must be better by more than the margin, significantly. The decision and its evidence are recorded on
    the model version. Segments that either model was trained on are left out. Exit code 1 if not promoted.

    Examples:

        qe promote qe-demo --data output/demo/demo.yaml --split test --metric mae

        qe promote qe-demo --data new.csv --label z_mean --columns source=src,target=mt

    arguments:
      name  Registered model.

    input:
      --data FILE  Labelled data: an experiment (YAML), or a TSV, CSV, JSONL or Parquet table.
      --split NAME  Split of the experiment's dataset. (default: test)
      --label NAME  Column of the labels, for a table.
      --columns NAME=HEADER  Headers of the data: source=HEADER,target=HEADER. Repeatable. (default: those
        of the models' training data, or usual ones)

    tests:
      --metric METRIC  Metric that is compared.
      --margin X  The gain must be larger than this, in units of the metric.
      --level P  Significance level of the one-sided test.
      --samples N  Bootstrap samples.
      --challenger VERSION  Version to promote. (default: the one with the alias challenger)

    options:
      --rollback  Return the alias champion to the previous version.
    """
    from qe.config.experiment import load
    from qe.production import promotion

    if rollback:
        demoted, champion = promotion.rollback(name)
        content = {"name": name, "demoted": demoted, "champion": champion}
        shown = f"{name}: version {champion} is champion again; version {demoted} is not"
        return Result("promote-rollback", content, [shown])
    if data is None:
        raise InputError("--data is needed to compare on", remedy="an experiment file or a labelled table")
    if data.suffix.lower() in (".yaml", ".yml"):
        labelled = promotion.of_experiment(load(data, data_root=data_root), split)
    else:
        labelled = promotion.from_table(data, label)
    decision = promotion.promote(
        name, labelled, metric=metric, margin=margin, level=level, samples=samples, seed=seed,
        challenger=challenger, columns=headers.headers,
    )  # fmt: skip
    return Result("promote", decision, decision_lines(decision), code=0 if decision.promoted else 1)


def decision_lines(decision: "Decision") -> list[str]:
    """Whether the challenger was promoted, the reason, and the evidence."""
    from qe.statistics.metric import METRICS, title_of

    lines = [f"{decision.name}: {'promoted' if decision.promoted else 'not promoted'}: {decision.reason}"]
    for version, score in decision.scores.items():
        data = f"{decision.n:,} segments of {decision.data}"
        shown = number(score, METRICS.get(decision.metric).digits + 1)
        lines.append(f"  version {version}: {title_of(decision.metric)} {shown} on {data}")
    if decision.learned:
        lines.append(f"  left out: {decision.learned:,} segments that one of them was trained on")
    unrecorded = "does not record its training data: make sure that none of it is here"
    return lines + [f"  version {version} {unrecorded}" for version in decision.silent]


def suggest(
    experiment: Path,
    input_: Path,
    output: Path,
    table: TableOptions,
    settings: ExperimentOptions,
    progress: Progress,
    count: Positive = 100,
    seed: Seed = 0,
) -> Result:
    """Choose segments of a pool to annotate next: uncertain ones that differ from each other.

    A committee of ridge regressions on bootstrap samples of the experiment's training rows predicts the pool;
    segments are drawn in proportion to the disagreement of its members times the squared distance to the
    segments that are labelled or drawn already. Texts that are labelled already are left out. docs/suggest.md
    compares this with random choice.

    Example:

        qe suggest output/demo/demo.yaml --input output/demo/data/new.tsv --count 20 --output next.tsv

    arguments:
      experiment  Experiment file with the labelled data and the features.

    input:
      -i, --input FILE  The pool, without labels: a table, XLSX, XLIFF or TMX.

    output:
      -o, --output FILE  Table of segments to annotate, most useful first.
      -n, --count N  How many segments.
    """
    from features.storage.outputs import check_output, locked_file
    from qe.data.writing import kind_of
    from qe.production.suggestion import suggest as run
    from qe.production.suggestion import write_suggestions

    loaded = settings.load(experiment)
    kind_of(output)
    check_output(output, [input_, experiment, *loaded.inputs()])
    options, languages = loaded.dataset.options(), None
    if "pair" in options:
        first, _, second = str(options["pair"]).partition("-")
        languages = first, second
    elif options.get("source_language") and options.get("target_language"):
        languages = str(options["source_language"]), str(options["target_language"])
    pool = table.pool(input_, languages)
    with locked_file(output):
        chosen = run(loaded, pool.columns, count, cache=settings.cache, seed=seed, progress=progress)
        write_suggestions(output, pool, chosen)
    tell_refused("suggest", pool.refused, input_)
    content = {
        "suggested": count, "candidates": chosen.candidates, "labelled": chosen.labelled,
        "refused": dict(pool.refused), "output": output,
    }  # fmt: skip
    shown = f"{count:,} of {chosen.candidates:,} segments, by {chosen.labelled:,} labelled ones: {output}"
    return Result("suggest", content, [shown], brief=True)


def robustness(
    model: str,
    input_: Path,
    headers: HeaderOptions,
    progress: Progress,
    rows: Annotated[int | None, Interval(ge=1)] = None,
    kinds: list[str] | None = None,
    seed: Seed = 0,
    plot: Path | None = None,
) -> Result:
    """Test a model on perturbed translations: how often does the score react as it should?

    Destroyed translations (missing words, the translation of another segment, the source instead of the
    translation, repeated or shuffled words, ...) should score below their original; changes that keep the
    meaning should not change the score. Local errors, tags and upper case are reported only.

    Example:

        qe robustness --model output/demo/model --input output/demo/data/new.tsv --rows 100

    input:
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      -i, --input FILE  Translations that the model was not trained on.

    options:
      --rows N  Rows to perturb. (default: as many as 20 CPU seconds allow, from 30 to 100)
      --kinds NAME...  Perturbations. (default: all)

    output:
      --plot FILE  Plot of the share that scores below the original (PNG, SVG or PDF).
    """
    from qe.api.models import model_folder
    from qe.models.model import Model
    from qe.models.robustness import judge_of, robustness_of
    from qe.models.robustness_table import robustness_table
    from qe.scoring.checks import Flags
    from qe.scoring.input import segments_of

    loaded = Model.load(*model_folder(model))
    segments = segments_of(loaded, input_, headers.headers)
    found = robustness_of(
        judge_of(loaded), segments, loaded.scale,
        seed=seed, rows=rows, kinds=kinds or (), checked=Flags.from_model(loaded).text, progress=progress,
    )  # fmt: skip
    if plot is not None:
        from qe.display.charts import save
        from qe.models.robustness_table import robustness_plot

        save(robustness_plot(found), plot)
    return Result("robustness", found, [robustness_table(found)])
