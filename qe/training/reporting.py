"""Reporting: the report of a run, assembled once, and the files that it leaves on disk."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.numerals import finite_or_none
from features.basics.progress import Progress, silent
from features.core.feature_set import FeatureSet
from features.core.segments import Segments
from features.storage.files import atomic_file
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.data.public import terms_of
from qe.data.score_files import write_submission
from qe.data.writing import save_table
from qe.display.charts import save
from qe.display.files import plain
from qe.display.numbers import number, percent, signed, signed_general
from qe.evaluation import baselines
from qe.evaluation import plots as evaluation_plots
from qe.evaluation.coverage import BadLabels, Coverage, error_curve
from qe.evaluation.evaluate import CLASS_METRICS, DEFAULT_METRICS, evaluate, metrics_of
from qe.evaluation.oracles import SplitOracles, split_oracles
from qe.evaluation.plots import errors_let_through, interval_coverage, reliability_plot
from qe.models.companions import Companions
from qe.models.description import versions
from qe.models.model import Model
from qe.models.robustness import Robustness
from qe.models.robustness_table import robustness_plot
from qe.statistics.metric import METRICS
from qe.statistics.metrics.ranking import delta_avg_by_n
from qe.statistics.settings import SignificanceSettings
from qe.tracking.settings import working_directory_commit
from qe.training import plots
from qe.training.preparation import Prepared
from qe.training.reading import folds_of, scores_of
from qe.training.search import SearchResult
from qe.training.words import Words, reliability_bins, word_section, write_words

REPEATED = ("delta_avg", "spearman", "pearson", "mae", "rmse")  # metrics of every repeat of the folds


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Everything that training has computed, for the report; undefined parts are None."""

    prepared: Prepared
    search: SearchResult
    repeats: FloatArray
    nested: FloatArray | None
    model: Model
    companions: Companions
    predictions: Mapping[str, FloatArray]
    covered: Mapping[str, Sequence[Coverage]]
    words: Words | None = None
    robustness: tuple[str, Robustness] | None = None

    @property
    def out_of_fold(self) -> FloatArray:
        first: FloatArray = self.repeats[0]
        return first


def assemble(result: TrainingResult, output: Path) -> dict[str, Any]:
    """The report as JSON values; every figure with its recipe. A model's print-out goes to model.txt."""
    prepared, search = result.prepared, result.search
    experiment, dataset, feature_set = (
        prepared.experiment, prepared.dataset, prepared.extraction.feature_set,
    )  # fmt: skip
    section, labels = experiment.evaluation, prepared.extraction.labels
    undefined = prepared.training_table().isna().sum()
    robustness = None
    if result.robustness is not None:
        robustness = {"of": result.robustness[0], **result.robustness[1].to_json()}
    return {
        "experiment": experiment.settings(),
        "recipe": {
            **recipe(experiment.seed, dataset.fingerprint, feature_set, prepared.parts),
            "files": _by_name(dataset.provenance),
            "other_datasets": [
                {"name": each.name, "fingerprint": each.fingerprint, "files": _by_name(each.provenance)}
                for each in prepared.auxiliaries
            ],
            "feature_files": feature_set.checksums(),
        },
        "data": {
            "name": dataset.name,
            "label": asdict(dataset.scale),
            "splits": {name: len(split) for name, split in dataset.splits.items()},
            "notes": [*dataset.notes, *([] if labels is None else [labels.note(prepared.training)])],
            "leaks": list(prepared.leaks),
            "terms": [terms for part in experiment.datasets if (terms := terms_of(part.path))],
        },
        "features": {
            "n": len(feature_set.names),
            "names": feature_set.names,
            "undefined": {name: int(count) for name, count in undefined.items() if count},
            "trees": [tree.config for tree in feature_set.trees],
            "absent": list(experiment.absent),
        },
        "search": {
            "trials": len(search.finished),
            "ended": search.ended,
            "skipped": search.ended_early(by_pruner=False),
            "pruned": search.ended_early(by_pruner=True),
            "failures": search.failures,
            "reproducible": search.reproducible,
            "notes": [search.note] if search.note else [],
            "objective": list(search.objective.metrics),
            "chosen": search.by_user,
            "best": search.best.settings(),
            "best_trial": search.best_number,
            "best_values": dict(zip(search.objective.metrics, search.best_trial.values, strict=True)),
            "fold_values": plain(search.best_trial.user_attrs["fold_values"]),
            "importances": plots.importances(search),
            "front": search.front() if len(search.objective.metrics) > 1 else None,
        },
        "cross_validation": {
            "folds": experiment.split.folds,
            "by": experiment.split.fold_by,
            "seed": experiment.split.seed,
            "selected_on_these_folds": not search.objective.space.single,
            **cross_validated(prepared, result.out_of_fold),
            "repeats": over_repeats(prepared, result.repeats),
        },
        "nested": None
        if result.nested is None
        else cross_validated(prepared, result.nested, experiment.split.outer),
        "test": on_test(prepared, result.predictions),
        "robustness": robustness,
        "words": word_section(result.words, section.samples, section.seed),
        "model": model_notes(result.model, output),
        "intervals": {
            **result.companions.report(),
            "splits": {
                name: [each.to_json() for each in entries] for name, entries in result.covered.items()
            },
        },
    }


def _by_name(files: Mapping[str, str]) -> dict[str, str]:
    return {Path(name).name: value for name, value in files.items()}


def recipe(seed: int, dataset: str, feature_set: FeatureSet, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Seed, versions, and fingerprints of data, features and resources (manifest entries `parts`)."""
    return {
        "seed": seed,
        "versions": versions(),
        "python": platform.python_version(),
        "working_directory_commit": working_directory_commit(),
        "dataset": dataset,
        "features": feature_set.fingerprint,
        "resources": {name: entry["fingerprint"] for name, entry in parts.items()},
    }


def cross_validated(prepared: Prepared, predicted: FloatArray, outer: int | None = None) -> dict[str, Any]:
    """The report of (n,) out-of-fold predictions and of the baselines', with figures of each inner fold."""
    folds = prepared.first_folds if outer is None else folds_of(prepared.training, prepared.experiment, outer)
    systems = {prepared.experiment.name: predicted} | baselines.cross_validated(
        prepared.training.segments, prepared.scores, folds, prepared.dataset.scale
    )
    report = _report(prepared.experiment, prepared.dataset, prepared.scores, systems, prepared.oracles)
    for name in systems if outer is None else ():
        # The task's papers of 2012 report means over folds; a metric of all rows is another figure.
        by_fold = pd.DataFrame([repeat_figures(prepared, systems[name], rows) for _, rows in folds])
        report["systems"][name]["per_fold"] = {
            str(metric): {
                "values": [finite_or_none(value) for value in values],
                "mean": finite_or_none(values.mean(skipna=False)),
                "sd": finite_or_none(values.std(skipna=False)),
            }
            for metric, values in by_fold.items()
        }
    return report


def on_test(prepared: Prepared, predictions: Mapping[str, FloatArray]) -> dict[str, Any] | None:
    test, scale = prepared.test, prepared.dataset.scale
    if test is None or prepared.dataset.split(test).scores is None:
        return None
    split = prepared.dataset.split(test)
    learned, other = (baselines.length_features(each.segments) for each in (prepared.training, split))
    simple = baselines.predict(learned, prepared.scores, other, scale)
    systems = {prepared.experiment.name: predictions[test]} | simple
    section = prepared.experiment.evaluation
    oracles = split_oracles(split, scale, samples=section.samples, seed=section.seed)
    return _report(prepared.experiment, prepared.dataset, scores_of(split), systems, oracles)


def over_repeats(prepared: Prepared, predictions: FloatArray) -> dict[str, Any] | None:
    """Mean and standard deviation of each metric over fold seeds, of (repeats, n); None for one repeat."""
    if len(predictions) == 1:
        return None
    repeats = pd.DataFrame([repeat_figures(prepared, row) for row in predictions])
    return {
        str(name): plain({"mean": np.mean(values), "sd_over_seeds": np.std(values, ddof=1)})
        for name, values in repeats.items()
    }


def repeat_figures(
    prepared: Prepared, predicted: FloatArray, rows: NDArray[np.int64] | slice = slice(None)
) -> dict[str, float]:
    sign = prepared.dataset.scale.sign
    gold, predicted = sign * prepared.scores[rows], sign * predicted[rows]
    names = REPEATED if prepared.dataset.scale.classes is None else (*CLASS_METRICS, *REPEATED)
    return {name: METRICS.get(name)().score(gold, predicted) for name in names}


def _report(
    experiment: Experiment,
    dataset: Dataset,
    gold: FloatArray,
    systems: dict[str, FloatArray],
    oracles: SplitOracles | None,
) -> dict[str, Any]:
    section = experiment.evaluation
    others = () if dataset.scale.classes is None else DEFAULT_METRICS
    report = evaluate(
        gold,
        systems,
        dataset.scale,
        SignificanceSettings(samples=section.samples, seed=section.seed, correct=section.correct),
        baselines=baselines.NAMES,
        metrics=tuple(dict.fromkeys((*metrics_of(dataset.scale, gold), *others, section.metric))),
    )
    delta_avg = {name: report.score(name, "delta_avg") for name in systems}
    return {**report.to_json(), "oracles": None if oracles is None else oracles.to_json(delta_avg)}


def model_notes(model: Model, output: Path) -> dict[str, Any]:
    learner = model.pipeline.named_steps["learn"]
    calibrated = getattr(learner, "calibration_", None) is not None
    notes: dict[str, Any] = {"calibrated": calibrated, **model.about.get("selection", {})}
    before = model.pipeline[:-1]  # empty for a learner that takes its features unchanged
    names_in = list(before.get_feature_names_out()) if len(before) else model.feature_set.names
    if hasattr(learner, "describe"):
        text = learner.describe(names_in, model.scale.name) + "\n"
    elif hasattr(learner, "coef_") and np.size(learner.coef_) == len(names_in):
        text = equation(model, names_in)
    else:
        return notes
    with atomic_file(output / "model.txt") as temporary:
        temporary.write_text(text, "utf-8")
    return {**notes, "print_out": "model.txt"}


def equation(model: Model, names: list[str]) -> str:
    """A linear model as an equation in the features' units, standardisation undone, largest effect first."""
    learner = model.pipeline.named_steps["learn"]
    effects = np.ravel(learner.coef_).astype(np.float64)
    coefficients, intercept = effects.copy(), float(np.ravel(learner.intercept_)[0])
    scaler = model.pipeline.named_steps.get("scale")
    if scaler is not None:
        kept = [model.feature_set.names.index(name) for name in names]
        coefficients = coefficients / scaler.scale_[kept]
        intercept -= float(coefficients @ scaler.mean_[kept])
    lines = [f"{model.scale.name} = {number(intercept, 4)}"]
    lines += [
        f"  {signed_general(coefficients[i])} * {names[i]}    ({signed(effects[i])} per standard deviation)"
        for i in np.argsort(-np.abs(effects))
        if coefficients[i]
    ]
    return "\n".join(lines) + "\n"


def about(report: Mapping[str, Any]) -> dict[str, Any]:
    figures = report["cross_validation"]["systems"][report["experiment"]["name"]]
    return {
        "trained": date.today().isoformat(),
        "recipe": report["recipe"],
        "versions": report["recipe"]["versions"],
        "data": report["data"],
        "best": report["search"]["best"],
        "cross_validation": {key: value for key, value in figures.items() if key != "per_fold"},
        "headers": _headers(report["experiment"]["dataset"]),
    }


def _headers(datasets: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, str]:
    several = [datasets] if isinstance(datasets, Mapping) else list(datasets)
    columns: dict[str, str] = {}
    for dataset in reversed(several):
        columns |= dataset.get("columns") or {}
    known = {name: header for name, header in columns.items() if name in Segments.column_names()}
    return known | {k: v for each in reversed(several) for k, v in (each.get("table_columns") or {}).items()}


def write(output: Path, result: TrainingResult, progress: Progress = silent) -> None:
    """Writes predictions (submissions and one table), trials.tsv, word tags and plots."""
    prepared = result.prepared
    files = {f"predictions.{name}.tsv": values for name, values in result.predictions.items()}
    files["predictions.out-of-fold.tsv"] = result.out_of_fold
    if prepared.test is not None:
        files["predictions.tsv"] = result.predictions[prepared.test]
    for name, predicted in files.items():
        quality = prepared.dataset.scale.sign * predicted
        write_submission(output / name, prepared.experiment.name, predicted, quality)
    parts = [("train", prepared.training, result.out_of_fold, result.nested)]
    for name, predicted in result.predictions.items():
        parts.append((name, prepared.dataset.split(name), predicted, None))
    blocks = [
        pd.DataFrame(
            {
                "split": name,
                "id": split.segments.id,
                "gold": np.full(len(split), np.nan) if split.scores is None else split.scores,
                "predicted": predicted,
                "nested": np.nan if nested is None else nested,
            }
        )
        for name, split, predicted, nested in parts
    ]
    save_table(pd.concat(blocks, ignore_index=True), output / "predictions.parquet")
    save_table(result.search.history(), output / "trials.tsv")
    if result.words is not None:
        write_words(output / "words", result.words)
    _write_plots(output / "plots", result, progress)


def _write_plots(folder: Path, result: TrainingResult, progress: Progress) -> None:
    prepared, search = result.prepared, result.search
    scale = prepared.dataset.scale
    gold, out_of_fold = prepared.scores, result.out_of_fold
    drawn = {
        "predicted_against_gold": evaluation_plots.predicted_against_gold(gold, out_of_fold, scale),
        "residuals": evaluation_plots.residuals(gold, out_of_fold, scale),
        "delta_avg": evaluation_plots.delta_avg_by_quantiles(_delta_avg_curves(result)),
        "errors_let_through": _errors_let_through(result),
    }
    for name, entries in {"": result.companions.intervals.measured, **result.covered}.items():
        if entries:
            location = name or "held-out training rows"
            figure = interval_coverage(entries, scale, location)
            drawn["interval_coverage" + (f"_{name}" if name else "")] = figure
    if not search.best.pairwise:  # a kernel's columns are segments, not features
        names, values, spread = plots.permutation_importance(search.objective, search.best, progress)
        drawn["feature_importance"] = plots.feature_importance(
            names,
            values,
            spread,
            unit="rise of the MAE when the column is shuffled",
            spread_name="± 1 sd over folds",
        )
    if result.words is not None:
        drawn["reliability"] = reliability_plot(reliability_bins(result.words))
    if result.robustness is not None:
        drawn["robustness"] = robustness_plot(result.robustness[1])
    metric = search.objective.metrics[0]
    history = search.history()[metric].to_numpy()
    drawn["study_history"] = plots.study_history(history, search.objective.directions[0], metric)
    shares = plots.importances(search)
    if shares:
        drawn["search_parameters"] = plots.slices(search, shares)
    if len(search.objective.metrics) > 1:
        drawn["pareto_front"] = plots.pareto_front(search)
    for name, figure in drawn.items():
        save(figure, folder / f"{name}.png")


def _delta_avg_curves(result: TrainingResult) -> dict[str, FloatArray]:
    prepared = result.prepared
    sign = prepared.dataset.scale.sign
    quality = {prepared.experiment.name: sign * result.out_of_fold}
    known = {} if prepared.oracles is None else prepared.oracles.oracles
    quality |= {f"oracle {name}": oracle.quality for name, oracle in known.items() if name != "effort"}
    return {name: delta_avg_by_n(sign * prepared.scores, values) for name, values in quality.items()}


def _errors_let_through(result: TrainingResult) -> Figure:
    prepared, section = result.prepared, result.prepared.experiment.evaluation
    gold, scale = prepared.scores, prepared.dataset.scale
    rule = BadLabels.worst_quarter(gold, scale) if section.bad is None else BadLabels.parse(section.bad)
    bad, units = rule.mask(gold), np.arange(len(gold))
    curve = error_curve(scale.sign * result.out_of_fold, bad, units, seed=section.seed)
    subtitle = f"bad: {rule}, {percent(float(bad.mean()), 0)} of n = {len(gold):,} segments, out of fold"
    return errors_let_through({"": curve}, subtitle)


def write_report(output: Path, report: Mapping[str, Any]) -> None:
    """Writes report.json (last: a report means that the run is whole)."""
    with atomic_file(output / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", "utf-8")
