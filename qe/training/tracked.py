"""Tracked: what an experiment leaves in MLflow, under names for people."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from features.basics.packages import installed
from features.storage.files import digest
from qe.config.experiment import Experiment
from qe.data.dataset import Split
from qe.evaluation.evaluate import CLASS_METRICS
from qe.models.model import Model
from qe.models.requirements import requirements
from qe.statistics.metric import METRICS, title_of
from qe.tracking import logged_models, registration
from qe.tracking.list_view import show_columns
from qe.tracking.runs import Data, Run, Untracked
from qe.tracking.runs import run as run_of
from qe.tracking.settings import load_settings, registered_model
from qe.training import figures, search
from qe.training.logged_tables import figures_table, segment_tables
from qe.training.preparation import Prepared
from qe.training.recipe import recipe
from qe.training.result import TrainingResult
from qe.training.space import Space
from qe.training.summary import best_of, model_line, summary, value_of

# Part of a report -> the group of its metrics in MLflow, which draws what stands before a slash together.
PARTS = {"cross_validation": "cross-validation", "nested": "nested cross-validation", "test": "test"}
_SHOWN = ("pearson", "spearman", "delta_avg", "mae", "rmse")
_COLUMNS = 2  # metrics beside the experiment's own that the list of runs shows of each part
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
    """The run of an experiment, as a context manager; it keeps nothing if untracked."""
    if not experiment.tracking.enabled:
        return nullcontext(Untracked())
    return run_of(
        experiment.run_name,
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
    """Logs parameters, data and fingerprints before long work; report part -> its data."""
    dataset, feature_set = prepared.dataset, prepared.extraction.feature_set
    run.params(prepared.experiment.settings())
    made_with = recipe(prepared.experiment.seed, dataset.fingerprint, feature_set, prepared.parts)
    run.values({**made_with, "installed": installed()}, "recipe.json")
    training = _log_data(run, prepared, prepared.training, dataset.name, "training")
    others = {
        name: _log_data(run, prepared, split, f"{dataset.name}/{name}", name)
        for name, split in dataset.splits.items()
        if name not in prepared.experiment.split.train
    }
    known = {"cross_validation": training, "nested": training}
    return known if prepared.test is None else {**known, "test": others[prepared.test]}


def log_budgets(run: Run, experiment: Experiment) -> None:
    """Logs the budgets that a resumed search has spent; parameters keep what the run began with."""
    section = experiment.search
    run.tags({f"resumed.search.{key}": str(getattr(section, key)) for key in ("trials", "without_gain")})


def _log_data(run: Run, prepared: Prepared, split: Split, name: str, context: str) -> Data:
    label = prepared.dataset.scale.name
    columns: dict[str, Any] = {"source": split.segments.source, "target": split.segments.target}
    if split.scores is not None:
        columns[label] = split.scores
    return run.dataset(pd.DataFrame(columns), name, label if label in columns else None, context)


@contextmanager
def search_logger(run: Run, prepared: Prepared) -> Iterator[search.OnTrial | None]:
    """What logs trials, in a child run of the search; None if there is nothing to search."""
    experiment = prepared.experiment
    if Space(experiment.learner, experiment.selection).single:
        yield None
        return
    with run.nested("search") as searched:
        yield trial_logger(searched, experiment.search.objective)


def trial_logger(run: Run, metrics: tuple[str, ...]) -> search.OnTrial:
    """Logs the progress of a search as stepped metrics, and finished trials as child runs.

    run  of the search alone: the run of the experiment has final figures
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
        run.child(
            f"trial {number}",
            {**trial.user_attrs["candidate"], "trial": number},
            {**values, "seconds": trial.user_attrs["seconds"]},
            trial.datetime_start,
            trial.datetime_complete,
        )

    return log


def register(
    run: Run, prepared: Prepared, model: Model, directory: Path, report: Mapping[str, Any]
) -> tuple[str, dict[str, Any] | None]:
    """Logs the model and registers it.

    Returns the logged model's id, and whether it is the champion now and why.
    """
    experiment, dataset, training = prepared.experiment, prepared.dataset, prepared.training
    described = logged_models.Described(
        experiment.name,
        summary(report, experiment.said),
        best_of(report),
        {**experiment.tracking.tags, **_version_tags(prepared, report)},
        requirements(model),
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


def _version_tags(prepared: Prepared, report: Mapping[str, Any]) -> dict[str, str]:
    label = prepared.dataset.scale.name
    return {
        "experiment": prepared.experiment.name,
        "data": f"{prepared.dataset.name}: {label}, {_languages(prepared)}",
        "model": model_line(report),
    }


def _content(prepared: Prepared, model: Model) -> str:
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
    """Logs the winner, the figures, tables that the UI opens, and the files of the run."""
    run.params({"best": best_of(report)})
    run.describe(summary(report, result.prepared.experiment.said, _links(run)))
    metric = report["experiment"]["evaluation"]["metric"]
    shown = [part for part in PARTS if report[part] is not None]
    for part in shown:  # the page of a run has metrics in the order in which they came
        run.metrics(_judged(report, part, metric), model_id=model_id, data=data[part])
    for part in shown:
        values = {f"{PARTS[part]}/{name}": value for name, value in _figures(report, part).items()}
        run.metrics(values, model_id=model_id, data=data[part])
    show_columns(run, _columns(report, metric))
    run.metrics(_intervals(report["intervals"]), model_id=model_id)
    run.metrics(_words(report["words"] or {}), model_id=model_id, data=data["cross_validation"])
    run.metrics(_robustness(report["robustness"]), model_id=model_id)
    run.metrics({"seconds": report["seconds"]})
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


def _links(run: Run) -> str:
    files = f"#/experiments/{run.experiment_id}/runs/{run.id}/artifacts"
    return f"[report]({files}/report.json), [all figures]({files}/tables/figures.json)" if run.id else ""


def _figures(report: Mapping[str, Any], part: str) -> dict[str, float]:
    own, metric = report["experiment"]["name"], report["experiment"]["evaluation"]["metric"]
    scores = report[part]["systems"][own]
    shown = dict.fromkeys((metric, *_main_metrics(scores)))
    values = {title(name): value_of(scores, name) for name in shown}
    return {name: value for name, value in values.items() if value is not None}


def _main_metrics(scores: Mapping[str, Any]) -> list[str]:
    return [*(name for name in CLASS_METRICS if name in scores), *_SHOWN]


def _judged(report: Mapping[str, Any], part: str, metric: str) -> dict[str, float]:
    value = value_of(report[part]["systems"][report["experiment"]["name"]], metric)
    hidden = value is None or (part == "cross_validation" and report["nested"] is not None)
    return {} if hidden or value is None else {_headline(metric, part): value}


def _headline(metric: str, part: str) -> str:
    return f"{title(metric)} on test" if part == "test" else title(metric)


def _columns(report: Mapping[str, Any], metric: str) -> list[str]:
    parts = [part for part in PARTS if report[part] is not None and part != "nested"]
    scores = report["cross_validation"]["systems"][report["experiment"]["name"]]
    others = [title(name) for name in _main_metrics(scores) if name != metric][:_COLUMNS]
    first = [_headline(metric, part) for part in parts]
    return [*first, *(f"{PARTS[part]}/{name}" for part in parts for name in others)]


def _intervals(report: Mapping[str, Any]) -> dict[str, float]:
    nearest = sorted(report["coverage"], key=lambda entry: abs(entry["level"] - _LEVEL))[:1]
    return {
        f"intervals/coverage {100 * entry['level']:g} percent": entry["coverage"]
        for entry in nearest
        if entry["coverage"] is not None
    }


def _robustness(section: Mapping[str, Any] | None) -> dict[str, float]:
    share = None if section is None else section["destroyed_below"]["mean"]
    return {} if share is None else {"robustness/destroyed below original": share}


def _words(report: Mapping[str, Any]) -> dict[str, float]:
    values: dict[str, float | None] = {}
    for part, section in report.items():
        tagged = section["tagged_by"]
        for name, metric in (("F1-mult", "f1_mult"), ("MCC", "mcc")):
            values[f"words/{name} of {part}"] = tagged[metric][metric]
        values[f"words/ECE of {part}"] = tagged["f1_mult"]["ece"]
    return {name: value for name, value in values.items() if value is not None}


def _log_repeats(run: Run, result: TrainingResult) -> None:
    if len(result.repeats) == 1:
        return
    there = run.children()
    for number, predicted in enumerate(result.repeats, start=1):
        if f"repeat {number}" not in there:
            values = figures.of_repeat(result.prepared, predicted)
            run.child(f"repeat {number}", {"repeat": number}, _titled(values), None, None)


def _titled(values: Mapping[str, float]) -> dict[str, float]:
    return {title(name): value for name, value in values.items()}
