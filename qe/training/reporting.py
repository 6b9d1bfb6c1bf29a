"""Reporting: what an experiment leaves behind on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from features.storage.files import atomic_file
from qe.config.experiment import Experiment
from qe.data.public import terms_of
from qe.data.score_files import write_submission
from qe.display.drawing import save
from qe.display.numbers import number, signed, signed_general
from qe.evaluation import prediction_plots
from qe.evaluation.coverage_plot import interval_coverage
from qe.evaluation.reliability_plot import reliability_plot
from qe.models.model import Model
from qe.models.robustness_plot import robustness_plot
from qe.statistics.metric import METRICS
from qe.statistics.metrics.delta_avg import delta_avg_by_n
from qe.training import figures
from qe.training.importance import permutation_importance
from qe.training.importance_plot import feature_importance
from qe.training.recipe import recipe
from qe.training.result import TrainingResult
from qe.training.search_parameters import importances, slices
from qe.training.search_plot import pareto_front, study_history
from qe.training.space import Space
from qe.training.words import reliability_bins, word_section, write_words


def assemble(result: TrainingResult) -> dict[str, Any]:
    """The report as JSON values; every figure with its recipe."""
    prepared, search = result.prepared, result.search
    experiment, dataset, extraction = prepared.experiment, prepared.dataset, prepared.extraction
    table, labels = prepared.training_table(), prepared.extraction.labels
    undefined = table.isna().sum()
    return {
        "experiment": experiment.settings(),
        "recipe": {
            **recipe(experiment.seed, dataset.fingerprint, extraction.feature_set, prepared.parts),
            "files": {Path(name).name: value for name, value in dataset.provenance.items()},
            "other_datasets": [
                {
                    "name": each.name,
                    "fingerprint": each.fingerprint,
                    "files": {Path(name).name: value for name, value in each.provenance.items()},
                }
                for each in prepared.auxiliaries
            ],
            "feature_files": extraction.feature_set.checksums(),
        },
        "data": {
            "name": dataset.name,
            "label": asdict(dataset.scale),
            "splits": {name: len(split) for name, split in dataset.splits.items()},
            "notes": [*dataset.notes, *([] if labels is None else [labels.note(prepared.training)])],
            "leaks": list(prepared.leaks),
            "terms": [terms for section in experiment.datasets if (terms := terms_of(section.path))],
        },
        "features": {
            "n": len(extraction.feature_set.names),
            "names": extraction.feature_set.names,
            "undefined": {name: int(count) for name, count in undefined.items() if count},
            "trees": [tree.config for tree in extraction.feature_set.trees],
            "absent": list(experiment.absent),
        },
        "search": {
            "trials": len(search.finished),
            "ended": search.ended,
            "passed_over": search.passed_over,
            "failures": search.failures,
            "reproducible": search.reproducible,
            "notes": [search.note] if search.note else [],
            "objective": list(search.metrics),
            "chosen": search.chosen,
            "best": search.best.settings(),
            "best_trial": search.best_number,
            "best_values": dict(zip(search.metrics, search.best_trial.values, strict=True)),
            "fold_values": search.best_trial.user_attrs["fold_values"],
            "importances": importances(search),
            "front": search.front() if len(search.metrics) > 1 else None,
        },
        "cross_validation": {
            **asdict_split(experiment),
            "selected_on_these_folds": not Space(experiment.learner, experiment.selection).single,
            **figures.cross_validated(prepared, result.out_of_fold),
            "repeats": figures.over_repeats(prepared, result.repeats),
        },
        "nested": None if result.nested is None else figures.cross_validated(prepared, result.nested),
        "test": figures.on_test(prepared, dict(result.predictions)),
        "robustness": robustness_section(result),
        "words": word_section(result.words, experiment.evaluation.samples, experiment.evaluation.seed),
    }


def robustness_section(result: TrainingResult) -> dict[str, Any] | None:
    """What the model made of spoilt translations, as JSON values."""
    if result.robustness is None:
        return None
    what, found = result.robustness
    return {"of": what, **found.to_json()}


def interval_report(result: TrainingResult) -> dict[str, Any]:
    """How the prediction intervals were made, and their coverage.

    `splits` is the coverage on rows that were never learned from.
    """
    splits = {name: [entry.to_json() for entry in entries] for name, entries in result.covered.items()}
    return {**result.companions.report(), "splits": splits}


def model_notes(model: Model, output: Path) -> dict[str, Any]:
    """Notes on the fitted learner; its readable print-out, if it has one, goes to model.txt."""
    learner = model.pipeline.named_steps["learn"]
    calibrated = getattr(learner, "calibration_", None) is not None
    notes: dict[str, Any] = {"calibrated": calibrated, **model.about.get("selection", {})}
    before = model.pipeline[:-1]  # empty for a learner that takes its features as they are
    names_in = list(before.get_feature_names_out()) if len(before) else model.feature_set.names
    if hasattr(learner, "describe"):
        with atomic_file(output / "model.txt") as temporary:
            temporary.write_text(learner.describe(names_in, model.scale.name) + "\n", "utf-8")
        notes["print_out"] = "model.txt"
    elif hasattr(learner, "coef_") and np.size(learner.coef_) == len(names_in):
        with atomic_file(output / "model.txt") as temporary:
            temporary.write_text(equation(model, names_in), "utf-8")
        notes["print_out"] = "model.txt"
    return notes


def equation(model: Model, names: list[str]) -> str:
    """A linear model as an equation in the features' own units, largest effect first.

    Standardisation is undone: coefficient / standard deviation, and the intercept moved accordingly.
    """
    learner = model.pipeline.named_steps["learn"]
    coefficients = np.ravel(learner.coef_).astype(np.float64)
    intercept = float(np.ravel(learner.intercept_)[0])
    effects = coefficients.copy()
    scaler = model.pipeline.named_steps.get("scale")
    if scaler is not None:
        kept = [model.feature_set.names.index(name) for name in names]
        coefficients = coefficients / scaler.scale_[kept]
        intercept -= float(coefficients @ scaler.mean_[kept])
    lines = [f"{model.scale.name} = {number(intercept, 4)}"]
    for i in np.argsort(-np.abs(effects)):
        if coefficients[i]:
            lines.append(
                f"  {signed_general(coefficients[i])} * {names[i]}"
                f"    ({signed(effects[i])} per standard deviation)"
            )
    return "\n".join(lines) + "\n"


def asdict_split(experiment: Experiment) -> dict[str, Any]:
    """How the folds were made."""
    section = experiment.split
    return {"folds": section.folds, "by": section.by, "seed": section.seed}


def about(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a model says of its origin."""
    name = report["experiment"]["name"]
    return {
        "trained": date.today().isoformat(),
        "recipe": report["recipe"],
        "versions": report["recipe"]["versions"],
        "data": report["data"],
        "best": report["search"]["best"],
        "cross_validation": report["cross_validation"]["systems"][name],
        "headers": _headers(report["experiment"]["dataset"]),
    }


def _headers(datasets: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> dict[str, str]:
    several = [datasets] if isinstance(datasets, Mapping) else list(datasets)
    columns: dict[str, str] = {}
    for dataset in reversed(several):
        columns |= dataset.get("columns") or {}
    return {name: header for name, header in columns.items() if name in Segments.column_names()}


def write(output: Path, result: TrainingResult, progress: Progress = silent) -> None:
    """Writes predictions (submissions and one table), trials.tsv, word tags and plots."""
    _write_submissions(output, result)
    with atomic_file(output / "predictions.parquet") as temporary:
        _predictions_table(result).to_parquet(temporary, index=False)
    with atomic_file(output / "trials.tsv") as temporary:
        result.search.history().to_csv(temporary, sep="\t", index=False)
    if result.words is not None:
        write_words(output / "words", result.words)
    _write_plots(output / "plots", result, progress)


def _write_submissions(output: Path, result: TrainingResult) -> None:
    prepared = result.prepared
    files = {f"predictions.{name}.tsv": values for name, values in result.predictions.items()}
    files["predictions.out-of-fold.tsv"] = result.out_of_fold
    if prepared.test is not None:
        files["predictions.tsv"] = result.predictions[prepared.test]
    for name, predicted in files.items():
        quality = prepared.dataset.scale.sign * predicted
        write_submission(output / name, prepared.experiment.name, predicted, quality)


def _predictions_table(result: TrainingResult) -> pd.DataFrame:
    training = result.prepared.training
    nothing = np.full(len(training), np.nan)
    blocks = [
        pd.DataFrame(
            {
                "split": "train",
                "id": training.segments.id,
                "gold": training.scores,
                "predicted": result.out_of_fold,
                "nested": nothing if result.nested is None else result.nested,
            }
        )
    ]
    for name, values in result.predictions.items():
        split = result.prepared.dataset.split(name)
        gold = np.full(len(split), np.nan) if split.scores is None else split.scores
        blocks.append(
            pd.DataFrame(
                {"split": name, "id": split.segments.id, "gold": gold, "predicted": values, "nested": np.nan}
            )
        )
    return pd.concat(blocks, ignore_index=True)


def _write_plots(folder: Path, result: TrainingResult, progress: Progress) -> None:
    prepared, search = result.prepared, result.search
    scale = prepared.dataset.scale
    gold, out_of_fold = prepared.scores, result.out_of_fold
    drawn = {
        "predicted_against_gold": prediction_plots.predicted_against_gold(gold, out_of_fold, scale),
        "residuals": prediction_plots.residuals(gold, out_of_fold, scale),
        "delta_avg": prediction_plots.delta_avg_by_quantiles(_delta_avg_curves(result)),
    }
    for name, entries in {"": result.companions.intervals.measured, **result.covered}.items():
        if entries:
            location = name or "held-out training rows"
            figure = interval_coverage(entries, scale, location)
            drawn["interval_coverage" + (f"_{name}" if name else "")] = figure
    if not search.best.pairwise:  # a kernel's columns are segments, not features
        names, values, spread = permutation_importance(result.objective, search.best, progress)
        drawn["feature_importance"] = feature_importance(
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
    metric = search.metrics[0]
    history = search.history()[metric].to_numpy()
    direction: Literal["maximize", "minimize"] = (
        "maximize" if METRICS.get(metric).higher_is_better else "minimize"
    )
    drawn["study_history"] = study_history(history, None, direction, metric)
    shares = importances(search)
    if shares:
        drawn["search_parameters"] = slices(search, shares)
    if len(search.metrics) > 1:
        drawn["pareto_front"] = pareto_front(search)
    for name, figure in drawn.items():
        save(figure, folder / f"{name}.png")


def _delta_avg_curves(result: TrainingResult) -> dict[str, FloatArray]:
    prepared = result.prepared
    sign = prepared.dataset.scale.sign
    quality = {prepared.experiment.name: sign * result.out_of_fold}
    known = {} if prepared.oracles is None else prepared.oracles.known
    quality |= {f"oracle {name}": oracle.quality for name, oracle in known.items() if name != "effort"}
    return {name: delta_avg_by_n(sign * prepared.scores, values) for name, values in quality.items()}


def write_report(output: Path, report: Mapping[str, Any]) -> None:
    """Writes report.json (last: a report means that the run is whole)."""
    with atomic_file(output / "report.json") as temporary:
        temporary.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", "utf-8")
