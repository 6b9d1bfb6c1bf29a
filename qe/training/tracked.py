"""Tracked: what an experiment leaves in MLflow, under names for people."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from features.storage.files import digest
from qe.config.experiment import Experiment
from qe.data.dataset import Split
from qe.evaluation.evaluate import CLASS_METRICS
from qe.evaluation.pairs import json_name
from qe.models.model import Model
from qe.statistics.metric import METRICS, title_of
from qe.tracking import logged_models, registration
from qe.tracking.runs import Data, Run, Untracked
from qe.tracking.runs import run as run_of
from qe.tracking.settings import load_settings, registered_model
from qe.training import figures, search
from qe.training.preparation import Prepared
from qe.training.recipe import recipe, recipe_tags
from qe.training.result import TrainingResult
from qe.training.summary import best_of, summary, value_of
from qe.training.tables import figures_table, segment_tables

# Part of a report -> the group of its metrics in MLflow, which draws what stands before a slash together.
PARTS = {"cross_validation": "cross-validation", "nested": "nested cross-validation", "test": "test"}
_SHOWN = ("delta_avg", "mae", "rmse", "pearson", "spearman")
MOST_CHILDREN = 30  # trials with a child run each; later ones only if they are the best so far
_LEVEL = 0.9  # of the prediction intervals, or the nearest that the run measures
_FILES = ("report.json", "predictions.tsv", "trials.tsv", "model.txt")
_WITH_IDS = ("predictions.parquet",)  # of segments


def title(metric: str) -> str:
    """A metric's name as MLflow takes it.

    >>> title("delta_avg"), title("large_error")
    ('DeltaAvg', 'Large percent')
    """
    return title_of(metric).replace("%", "percent")


def started(
    experiment: Experiment, *, resume: str | None = None, parent: str | None = None
) -> AbstractContextManager[Run]:
    """The run of an experiment, as a context manager; one that keeps nothing if it is not tracked."""
    if not experiment.tracking.enabled:
        return nullcontext(Untracked())
    return run_of(
        experiment.run_name,
        description=experiment.description,
        resume=resume,
        parent=parent,
        tags=experiment.tracking.tags,
    )


def batch(experiments: Sequence[Experiment]) -> AbstractContextManager[Run]:
    """The parent run of several experiments; one that keeps nothing if none of them is tracked."""
    if not any(experiment.tracking.enabled for experiment in experiments):
        return nullcontext(Untracked())
    names = [experiment.name for experiment in experiments]
    return run_of(f"batch of {len(names)}", description=", ".join(names))


def log_start(run: Run, prepared: Prepared) -> dict[str, Data]:
    """Parameters, data and fingerprints, before anything long begins; part of the report -> its data."""
    dataset, feature_set = prepared.dataset, prepared.extraction.feature_set
    run.params(prepared.experiment.settings())
    made_with = recipe(prepared.experiment.seed, dataset.fingerprint, feature_set, prepared.parts)
    run.tags(recipe_tags(made_with, dataset.name, feature_set))
    training = _log_data(run, prepared, prepared.training, dataset.name, "training")
    others = {
        name: _log_data(run, prepared, split, f"{dataset.name}/{name}", name)
        for name, split in dataset.splits.items()
        if name not in prepared.experiment.split.train
    }
    known = {"cross_validation": training, "nested": training}
    return known if prepared.test is None else {**known, "test": others[prepared.test]}


def _log_data(run: Run, prepared: Prepared, split: Split, name: str, context: str) -> Data:
    label = prepared.dataset.scale.name
    columns: dict[str, Any] = {"source": split.segments.source, "target": split.segments.target}
    if split.scores is not None:
        columns[label] = split.scores
    return run.dataset(pd.DataFrame(columns), name, label if label in columns else None, context)


def trial_logger(run: Run, metrics: tuple[str, ...]) -> search.OnTrial:
    """Logs how the search goes on as stepped metrics of the run, and finished trials as child runs.

    Of a long search those that are the best so far alone, so that they do not fill the list of runs.
    """

    def log(finished: search.Finished) -> None:
        trial, number = finished.trial, finished.number
        values = dict(zip(map(title, metrics), trial.values, strict=True))
        best = dict(zip(map(title, metrics), finished.best.values, strict=True))
        run.metrics({f"search/{name}": value for name, value in values.items()}, number)
        run.metrics({f"search/best {name} so far": value for name, value in best.items()}, number)
        if number > MOST_CHILDREN and not finished.is_best:
            return
        per_fold = {
            f"folds/{title(name)} {i}": value
            for name, folds in trial.user_attrs["fold_values"].items()
            for i, value in enumerate(folds, start=1)
        }
        run.child(
            f"trial {number}",
            {**trial.user_attrs["candidate"], "trial": number},
            {**values, **per_fold, "seconds": trial.user_attrs["seconds"]},
            trial.datetime_start,
            trial.datetime_complete,
        )

    return log


def register(
    run: Run, prepared: Prepared, model: Model, directory: Path, report: Mapping[str, Any]
) -> tuple[str, dict[str, Any] | None]:
    """Logs the model and registers it: the logged model's id, and whether it is the champion now, and why."""
    experiment, dataset, training = prepared.experiment, prepared.dataset, prepared.training
    described = logged_models.Described(
        experiment.name,
        summary(report),
        best_of(report),
        {**experiment.tracking.tags, **_version_tags(prepared, model, report)},
    )
    if not experiment.tracking.enabled:
        return "", None
    if not experiment.tracking.registers:
        logged = logged_models.log_model(run, directory, columns=model.columns(), described=described)
        return logged, None
    settings, _ = load_settings()
    scale = dataset.scale
    name = experiment.tracking.model_name or registered_model(
        settings.registered_model, f"{dataset.name}-{scale.name}", experiment.name
    )
    metric = experiment.evaluation.metric
    source = report["nested"] or report["cross_validation"]
    entry = registration.register(
        run,
        directory,
        name=name,
        columns=model.columns(),
        metric=metric,
        value=float(source["systems"][experiment.name][metric]),
        higher_is_better=METRICS.get(metric).higher_is_better,
        data=digest(training.fingerprint, report["cross_validation"]["folds"]),
        content=_content(prepared, model),
        described=described,
        about=f"Predicts {scale.name} of translations from {_languages(prepared)} ({dataset.name}).",
    )
    return entry.model_id, asdict(entry)


def _languages(prepared: Prepared) -> str:
    segments = prepared.training.segments
    return f"{segments.source_tokenizer.language} to {segments.target_tokenizer.language}"


def _version_tags(prepared: Prepared, model: Model, report: Mapping[str, Any]) -> dict[str, str]:
    best, names = report["search"]["best"], prepared.extraction.feature_set.names
    return {
        "experiment": prepared.experiment.name,
        "dataset": prepared.dataset.name,
        "label": prepared.dataset.scale.name,
        "languages": _languages(prepared),
        "learner": best["learner"],
        "selector": best["selector"],
        "features": str(len(names)),
        "fingerprint.dataset": prepared.dataset.fingerprint,
        "fingerprint.features": model.feature_set.fingerprint,
    }


def _content(prepared: Prepared, model: Model) -> str:
    """What the model and its companions were made from."""
    settings = prepared.experiment.settings()
    chosen = {
        key: settings[key]
        for key in ("seed", "split", "weights", "weight_power", "auxiliary_labels", "intervals")
    }
    made_from = (prepared.dataset.fingerprint, model.feature_set.fingerprint, model.candidate.settings())
    others = (each.fingerprint for each in prepared.auxiliaries)
    return digest(json.dumps(chosen, sort_keys=True), *made_from, *others)


def log_end(
    run: Run,
    output: Path,
    result: TrainingResult,
    report: Mapping[str, Any],
    data: Mapping[str, Data],
    model_id: str,
) -> None:
    """The winner, the figures of run and model, tables that can be opened, and the files of the run."""
    run.params({"best": best_of(report)})
    run.describe(summary(report))
    for part, group in PARTS.items():
        if report[part] is not None:
            values = {f"{group}/{name}": value for name, value in _figures(report, part).items()}
            run.metrics(values, model_id=model_id, data=data[part])
    run.metrics(_intervals(report["intervals"]), model_id=model_id)
    run.metrics(_words(report["words"] or {}), model_id=model_id, data=data["cross_validation"])
    run.metrics({"seconds": report["seconds"]})
    for metric, values in report["search"]["fold_values"].items():
        for step, value in enumerate(values, start=1):
            run.metrics({f"folds/{title(metric)}": value}, step)
    _log_repeats(run, result)
    run.table(figures_table(report, PARTS), "tables/figures.json")
    run.table(result.search.history(), "tables/trials.json")
    texts = result.prepared.experiment.tracking.texts or ("all" if run.stays_here() else "ids")
    for part, table in segment_tables(result, texts).items():
        run.table(table, f"tables/{PARTS[part]}.json")
    for file in _FILES if texts == "none" else (*_FILES, *_WITH_IDS):
        if (output / file).is_file():
            run.artifact(output / file)
    run.artifact(output / "plots", "plots")
    if (output / "words").is_dir():  # of the splits beside the training rows, if there are any
        run.artifact(output / "words", "words")


def _figures(report: Mapping[str, Any], part: str) -> dict[str, float]:
    """Figures of a part; for the experiment's metric with interval, baselines and oracles."""
    section, metric = report[part], report["experiment"]["evaluation"]["metric"]
    systems, own = section["systems"], report["experiment"]["name"]
    classes = (name for name in CLASS_METRICS if name in systems[own])
    shown = dict.fromkeys((metric, *classes, *_SHOWN))
    values = {title(name): value_of(systems[own], name) for name in shown}
    low, high = systems[own]["ci"].get(json_name(metric)) or (None, None)
    values |= {f"{title(metric)} 95 percent low": low, f"{title(metric)} 95 percent high": high}
    for name in section["baselines"]:
        values[f"{title(metric)} of baseline {name.strip('()')}"] = value_of(systems[name], metric)
    for name, oracle in (section.get("oracles") or {}).items():
        if name != "effort":  # the labels themselves: their error is 0
            values[f"{title(metric)} of oracle {name}"] = oracle.get(metric)
    return {name: float(value) for name, value in values.items() if value is not None}


def _intervals(report: Mapping[str, Any]) -> dict[str, float]:
    """Coverage and mean width of one level; other levels, and the bands of each, stand in report.json."""
    values: dict[str, float | None] = {}
    for split, entries in {"": report["coverage"], **report["splits"]}.items():
        for entry in sorted(entries, key=lambda entry: abs(entry["level"] - _LEVEL))[:1]:
            where = f"{100 * entry['level']:g} percent" + (f" on {split}" if split else "")
            values |= {
                f"intervals/coverage {where}": entry["coverage"],
                f"intervals/width {where}": entry["width"],
            }
    return {name: value for name, value in values.items() if value is not None}


def _words(report: Mapping[str, Any]) -> dict[str, float]:
    """Out-of-fold figures of words, gaps and source words."""
    values: dict[str, float | None] = {}
    for part, section in report.items():
        tagged = section["tagged_by"]
        for name, metric in (("F1-mult", "f1_mult"), ("MCC", "mcc")):
            values[f"words/{name} of {part}"] = tagged[metric][metric]
        values[f"words/ECE of {part}"] = tagged["f1_mult"]["ece"]
    return {name: value for name, value in values.items() if value is not None}


def _log_repeats(run: Run, result: TrainingResult) -> None:
    """A child run for each repeat of the folds, where there are several."""
    if len(result.repeats) == 1:
        return
    there = run.children()
    for number, predicted in enumerate(result.repeats, start=1):
        if f"repeat {number}" not in there:
            values = figures.of_repeat(result.prepared, predicted)
            run.child(f"repeat {number}", {"repeat": number}, _titled(values), None, None)


def _titled(values: Mapping[str, float]) -> dict[str, float]:
    return {title(name): value for name, value in values.items()}
