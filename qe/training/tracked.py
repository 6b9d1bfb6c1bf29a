"""Tracked: parameters, data, trials, figures, tables and the model of an experiment in MLflow."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.plugins import installed
from features.storage.files import digest
from qe.config.experiment import Experiment
from qe.data.dataset import Split
from qe.evaluation.evaluate import CLASS_METRICS
from qe.models.card import requirements
from qe.models.model import Model
from qe.statistics.metric import METRICS, title_of
from qe.tracking import logged_models, registry
from qe.tracking.runs import Data, Run, Untracked
from qe.tracking.runs import run as run_of
from qe.tracking.settings import load_settings, registered_model
from qe.tracking.ui import children_view, show_columns
from qe.training.fitting import bounds_of
from qe.training.page import run_page
from qe.training.plan import Space
from qe.training.preparation import Prepared
from qe.training.reading import scores_of
from qe.training.reporting import TrainingResult, recipe, repeat_figures
from qe.training.search import Finished, OnTrial
from qe.training.summary import PARTS, best_of, model_line, summary, value_of

# Part of a report -> the group of its metrics in MLflow, which draws metrics with one prefix together.
GROUPS = dict(reversed(PARTS.items()))
# Part of a report -> what follows the evaluation metric's name, so that no column mixes two kinds of figures.
_HEADLINES = {"cross_validation": "", "nested": " nested", "test": " on test"}
MAX_CHILDREN = 30  # trials with a child run each; later ones only if they are the best so far
MAX_ROWS = 10_000  # that a browser can show; predictions.parquet has all
_MAIN_METRICS = ("pearson", "spearman", "delta_avg", "mae", "rmse")
_COLUMNS = 2  # metrics, in addition to the experiment's, that the list of runs shows of each part
_SHOWN = 3  # runs that the description of a batch names
_LEVEL = 0.9  # of the prediction intervals, or the nearest that the run measures
_FILES = ("report.json", "predictions.tsv", "trials.tsv", "model.txt")
_NO_METRICS = ("interval", "n", "ci", "delta_avg_by_n")


def title(metric: str) -> str:
    return title_of(metric).replace("%", "percent")


def started(
    experiment: Experiment, *, resume: str | None = None, parent: str | None = None
) -> AbstractContextManager[Run]:
    """The run of an experiment, as a context manager; it keeps nothing if untracked."""
    if not experiment.tracking.enabled:
        return nullcontext(Untracked())
    return run_of(experiment.run_name, resume=resume, parent=parent, tags=experiment.tracking.tags)


def batch(experiments: Sequence[Experiment]) -> AbstractContextManager[Run]:
    """The parent run of several experiments; one that keeps nothing if none of them is tracked."""
    if not any(experiment.tracking.enabled for experiment in experiments):
        return nullcontext(Untracked())
    names = [experiment.name for experiment in experiments]
    return run_of(f"batch of {len(names)}", description=", ".join(names))


def log_batch(run: Run, groups: Sequence[Sequence[tuple[str, str, Mapping[str, Any]]]]) -> None:
    # Groups: the runs (id, name, report) on each dataset, best first.
    if not run.id or not groups:
        return
    lines = []
    for group in groups:
        texts = []
        for id_, name, report in group[:_SHOWN]:
            figures = ", ".join(f"{title} {value:.4f}" for title, value in _headlines(report).values())
            texts.append(f"[{name}]({_page(run, id_)}) {figures}")
        lines.append(f"**{group[0][2]['data']['name']}**: {'; '.join(texts)}")
    best = groups[0][0][2]
    if len(groups) == 1:
        run.metrics(dict(_headlines(best).values()))
    metric = best["experiment"]["evaluation"]["metric"]
    better = METRICS.get(metric).higher_is_better
    address = children_view(run, title(metric), higher_is_better=better).removeprefix("/")
    link = f"[all runs, best first]({address}). " if address else ""
    run.describe(link + "\n\n".join(lines))


def _headlines(report: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """Part of a report -> title and value of the metric that ranks; undefined ones are left out."""
    name, metric = report["experiment"]["name"], report["experiment"]["evaluation"]["metric"]
    headlines = {}
    for part in GROUPS:
        value = None if report[part] is None else value_of(report[part]["systems"][name], metric)
        if value is not None:
            headlines[part] = (title(metric) + _HEADLINES[part], value)
    return headlines


def _page(run: Run, run_id: str) -> str:
    return f"#/experiments/{run.experiment_id}/runs/{run_id}"


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


def _log_data(run: Run, prepared: Prepared, split: Split, name: str, context: str) -> Data:
    label = prepared.dataset.scale.name
    columns: dict[str, Any] = {"source": split.segments.source, "target": split.segments.target}
    if split.scores is not None:
        columns[label] = split.scores
    return run.dataset(pd.DataFrame(columns), name, label if label in columns else None, context)


@contextmanager
def search_logger(run: Run, prepared: Prepared) -> Iterator[OnTrial | None]:
    """Logs trials in a child run of the search; None if there is nothing to search."""
    experiment = prepared.experiment
    if Space(experiment.learner, experiment.selection).single:
        yield None
        return
    with run.nested("search") as searched:
        yield trial_logger(searched, experiment.search.objective)


def trial_logger(run: Run, metrics: tuple[str, ...]) -> OnTrial:
    """Logs a search (`run`) as stepped metrics, and finished trials as child runs.

    After the first 30 trials, only those that are the best so far have a run, so that the list stays short.
    """

    def log(finished: Finished) -> None:
        trial, number = finished.trial, finished.number
        values = dict(zip(map(title, metrics), trial.values, strict=True))
        best = dict(zip(map(title, metrics), finished.best.values, strict=True))
        run.metrics({f"search/{name}": value for name, value in values.items()}, number)
        run.metrics({f"search/best {name} so far": value for name, value in best.items()}, number)
        if number > MAX_CHILDREN and trial.number != finished.best.number:
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
    """Logs the model and registers it. Returns its id, and whether it is the champion now and why."""
    experiment, dataset, training = prepared.experiment, prepared.dataset, prepared.training
    described = logged_models.Described(
        experiment.name,
        summary(report, experiment.current_description),
        best_of(report),
        {
            **experiment.tracking.tags,
            "experiment": experiment.name,
            "data": f"{dataset.name}: {dataset.scale.name}, {_languages(prepared)}",
            "model": model_line(report),
        },
        requirements(model),
        model.feature_set.table_columns,
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
    entry = registry.register(
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
    experiment = result.prepared.experiment
    run.params({"best": best_of(report)})
    files, links = f"{_page(run, run.id)}/artifacts", ""
    if run.id:
        links = f"[report]({files}/report.html), [all figures]({files}/tables/figures.json)"
    run.describe(summary(report, experiment.current_description, links))
    log_figures(run, report, data, model_id)
    run.metrics({"seconds": report["seconds"]})
    logged = run.children() if len(result.repeats) > 1 else None
    for number, predicted in enumerate(result.repeats, start=1):
        if logged is not None and f"repeat {number}" not in logged:
            scores = repeat_figures(result.prepared, predicted)
            titled = {title(name): value for name, value in scores.items()}
            run.child(f"repeat {number}", {"repeat": number}, titled, None, None)
    run.table(figures_table(report), "tables/figures.json")
    run.table(result.search.history(), "tables/trials.json")
    texts = experiment.tracking.texts or ("all" if run.stays_here() else "ids")
    for part, table in segment_tables(result, texts).items():
        run.table(table, f"tables/{GROUPS[part]}.json")
    if run.id:
        run.text(run_page(output, texts=False), "report.html")
    for file in _FILES if texts == "none" else (*_FILES, "predictions.parquet"):
        if (output / file).is_file():
            run.artifact(output / file)
    for folder in ("plots", "words"):
        if (output / folder).is_dir():
            run.artifact(output / folder, folder)


def log_figures(run: Run, report: Mapping[str, Any], data: Mapping[str, Data], model_id: str) -> None:
    """Logs the figures of a report, and makes the main ones columns of the list of runs."""
    for part, values in figures_of(report):
        defined = {name: value for name, value in values.items() if value is not None}
        run.metrics(defined, model_id=model_id, data=data.get(part))
    # The list of runs shows the evaluation metric of each part, and two more.
    metric, parts = report["experiment"]["evaluation"]["metric"], [part for part in GROUPS if report[part]]
    others = [title(name) for name in _listed(report) if name != metric][:_COLUMNS]
    columns = [f"{GROUPS[part]}/{name}" for part in parts if part != "nested" for name in others]
    show_columns(run, [*(title(metric) + _HEADLINES[part] for part in parts), *columns])


def figures_of(report: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float | None]]]:
    """Metrics in the order of a run's page, the evaluation metric first, and the part that they are of."""
    for part, (name, value) in _headlines(report).items():
        yield part, {name: value}
    for part in GROUPS:
        if report[part] is not None:
            scores = report[part]["systems"][report["experiment"]["name"]]
            metrics = dict.fromkeys((report["experiment"]["evaluation"]["metric"], *_listed(report)))
            yield part, {f"{GROUPS[part]}/{title(name)}": value_of(scores, name) for name in metrics}
    nearest = sorted(report["intervals"]["coverage"], key=lambda entry: abs(entry["level"] - _LEVEL))[:1]
    yield "", {f"intervals/coverage {100 * e['level']:g} percent": e["coverage"] for e in nearest}
    words: dict[str, float | None] = {}
    for part, section in (report["words"] or {}).items():
        tagged = section["tagged_by"]
        for name, metric in (("F1-mult", "f1_mult"), ("MCC", "mcc")):
            words[f"words/{name} of {part}"] = tagged[metric][metric]
        words[f"words/ECE of {part}"] = tagged["f1_mult"]["ece"]
    yield "cross_validation", words
    if report["robustness"] is not None:
        yield "", {"robustness/destroyed below original": report["robustness"]["destroyed_below"]["mean"]}


def _listed(report: Mapping[str, Any]) -> list[str]:
    scores = report["cross_validation"]["systems"][report["experiment"]["name"]]
    return [*(name for name in CLASS_METRICS if name in scores), *_MAIN_METRICS]


def segment_tables(result: TrainingResult, texts: Literal["all", "ids", "none"]) -> dict[str, pd.DataFrame]:
    """Part of the report -> its segments, largest error first; `texts` is what rows show of them."""
    if texts == "none":
        return {}
    prepared = result.prepared
    tables = {"cross_validation": _segments(result, prepared.training, result.out_of_fold)}
    if prepared.test is not None and prepared.dataset.split(prepared.test).scores is not None:
        split = prepared.dataset.split(prepared.test)
        tables["test"] = _segments(result, split, result.predictions[prepared.test])
    dropped = [] if texts == "all" else ["source", "target"]
    return {part: table.drop(columns=dropped) for part, table in tables.items()}


def _segments(result: TrainingResult, split: Split, predicted: FloatArray) -> pd.DataFrame:
    gold, segments, intervals = scores_of(split), split.segments, result.companions.intervals
    columns: dict[str, Any] = {
        "id": segments.id,
        "source": segments.source,
        "target": segments.target,
        "gold": gold,
        "prediction": predicted,
        "error": predicted - gold,
    }
    levels = [entry.level for entry in intervals.measured]
    level = _LEVEL if _LEVEL in levels else max(levels, default=None)
    if level is not None:
        low, high = bounds_of(result.prepared, result.model, intervals, split, predicted, level)
        percent = f"{100 * level:g} %"
        columns |= {f"{percent} low": low, f"{percent} high": high, "inside": (low <= gold) & (gold <= high)}
    order = np.argsort(-np.abs(predicted - gold), kind="stable")[:MAX_ROWS]
    return pd.DataFrame(columns).iloc[order].replace([np.inf, -np.inf], np.nan)


def figures_table(report: Mapping[str, Any]) -> pd.DataFrame:
    """One row per figure of each system, baseline and oracle, with interval and corrected p-value."""
    rows = []
    for part, name in GROUPS.items():
        section = report[part]
        if section is None:
            continue
        p_values = {(c["baseline"], c["metric"]): c["p_corrected"] for c in section["comparisons"]}
        for system, scores in section["systems"].items():
            kind = "baseline" if system in section["baselines"] else "model"
            for metric, value in scores.items():
                if metric not in _NO_METRICS:
                    p = None if kind == "model" else p_values.get((system, metric))
                    rows.append(
                        [name, kind, system, metric, value, *(scores["ci"].get(metric) or (None, None)), p]
                    )
        for system, oracle in (section.get("oracles") or {}).items():
            for metric in ("delta_avg", "spearman", "mae", "rmse"):
                bounds = (oracle.get("ci") or {}).get(metric) or (None, None)
                rows.append([name, "oracle", system, metric, oracle[metric], *bounds, None])
    return pd.DataFrame(rows, columns=["part", "kind", "system", "metric", "value", "low", "high", "p"])
