"""The page of a training run: figures, plots, errors, segments with explanations, recipe."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from pydantic import ValidationError

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.damage import read_json
from qe.config.experiment import DatasetSection
from qe.data.dataset import LabelScale, concatenate
from qe.data.format import make_format
from qe.display.charts import png
from qe.display.files import figures, render
from qe.display.numbers import count, number
from qe.evaluation import plots as evaluation_plots
from qe.evaluation.plots import ShownSegment, scale_label, words_of
from qe.scoring.scorer import Options, Scorer
from qe.statistics.metrics.ranking import delta_avg_by_n
from qe.training.summary import differences_table, scores_table, verdict

SHOWN = 5
_METRICS = ("delta_avg", "mae", "rmse", "pearson", "spearman", "kendall")
_IMPORTANCE = "Feature importance: how much the error rises if the values of a feature are shuffled"
_LET_THROUGH = "How many bad segments are let through if the segments predicted best are published unseen"
_GAIN = "By how much the segments ranked first are better than all, for each number of quantiles (DeltaAvg)"


@dataclass(frozen=True, eq=False)
class _Split:
    name: str
    table: pd.DataFrame
    scale: LabelScale
    segments: Segments | None
    problem: str  # why there are no texts
    gold: FloatArray
    predicted: FloatArray


def run_page(folder: Path, *, texts: bool = True) -> str:
    """The page of a run's output folder; texts are shown if its data are still there, or left out."""
    if not (folder / "report.json").is_file():
        remedy = "give the output folder of `qe train` or `qe demo`"
        raise InputError("is no finished run", location=folder, remedy=remedy)
    report = read_json("the report", folder / "report.json", "train it again")
    name = str(report["experiment"]["name"])
    split, data = _chosen_split(folder, report, texts), report["data"]
    segments, note, coloured = _segments(folder, split)
    dataset = first_dataset(report["experiment"])
    return render(
        "qe.training",
        "page.html",
        {"number": number},
        title=name,
        verdict=verdict(report),
        lead=_lead(report),
        languages=(str(dataset.get("source_language") or ""), str(dataset.get("target_language") or "")),
        tables=_tables(report),
        notes=[*data.get("leaks", ()), *data["notes"], *report["cross_validation"]["notes"]],
        shown=f"{len(split.table):,} labelled segments: {split.name}.",
        predictions=_prediction_figures(split, name)
        + _saved_plots(folder, {_LET_THROUGH: "errors_let_through"}),
        errors=_errors(split),
        importance=_saved_plots(folder, {_IMPORTANCE: "feature_importance"}),
        words=_saved_plots(folder, {"How often words are BAD, by P(BAD); out of fold": "reliability"}),
        segments=segments,
        segment_note=note,
        coloured=coloured,
        facts=_facts(report),
        experiment=yaml.safe_dump(report["experiment"], sort_keys=False, allow_unicode=True),
        recipe=f"{name} · dataset {report['recipe']['dataset']}",
    )


def _chosen_split(folder: Path, report: Mapping[str, Any], texts: bool) -> _Split:
    table = pd.read_parquet(folder / "predictions.parquet")
    scale = LabelScale(**report["data"]["label"])
    tested = table[(table["split"] != "train") & table["gold"].notna()]
    name = "train" if tested.empty else str(tested["split"].iloc[0])
    rows = table[(table["split"] == name) & table["gold"].notna() & table["predicted"].notna()]
    segments, problem = None, "this copy of the page has none (`qe report` writes them)"
    if texts:
        segments, problem = _texts(report, name, rows["id"].astype(str).tolist())
    training = "training rows, each predicted by a model trained without it"
    label = training if name == "train" else f"split {name}"
    gold, predicted = (rows[column].to_numpy(np.float64) for column in ("gold", "predicted"))
    return _Split(label, rows.reset_index(drop=True), scale, segments, problem, gold, predicted)


def _texts(report: Mapping[str, Any], name: str, ids: Sequence[str]) -> tuple[Segments | None, str]:
    experiment = report["experiment"]
    try:
        section = DatasetSection(**first_dataset(experiment))
        dataset = make_format(section.format, section.options()).read(section.path)
        names = experiment["split"]["train"] if name == "train" else [name]
        segments = concatenate([dataset.split(part) for part in names]).segments
    except (InputError, ValidationError) as error:
        return None, str(error)
    if dataset.fingerprint != report["recipe"]["dataset"]:
        return None, "the data have changed since"
    place = {id_: row for row, id_ in enumerate(segments.id or ())}
    if len(place) < len(segments) or not place.keys() >= set(ids):
        return None, "ids do not identify the segments"
    return segments.take([place[id_] for id_ in ids]), ""


def first_dataset(experiment: Mapping[str, Any]) -> dict[str, Any]:
    sections = experiment["dataset"]
    return dict(sections[0] if isinstance(sections, list) else sections)


def _lead(report: Mapping[str, Any]) -> str:
    best, sizes = report["search"]["best"], report["data"]["splits"]
    splits = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    scale = LabelScale(**report["data"]["label"])
    better = "higher" if scale.higher_is_better else "lower"
    return (
        f"{report['experiment']['description'] or 'A training run'}. Learner {best['learner']}, "
        f"{report['features']['n']} features, the best of {report['search']['trials']} trials. Label "
        f"{scale.name} ({better} is better); segments: {splits}."
    )


def _tables(report: Mapping[str, Any]) -> list[str]:
    chosen = report["experiment"]["evaluation"]["metric"]
    same_folds = report["cross_validation"]["selected_on_these_folds"]
    captions = {
        "test": "On the test split, with 95 % intervals",
        "nested": "Nested cross-validation: the whole procedure, search included, with 95 % intervals",
        "cross_validation": "Cross-validation, with 95 % intervals"
        + " (parameters were chosen on these folds)" * bool(same_folds),
    }
    name, tables = str(report["experiment"]["name"]), []
    for key, caption in captions.items():
        if (section := report[key]) is not None:
            tables.append(scores_table(caption, section, chosen, _METRICS, intervals=True))
            differences = differences_table(section, name, chosen)
            tables += [differences] if differences.body else []
    return [table.html() for table in tables]


def _prediction_figures(split: _Split, name: str) -> list[dict[str, str]]:
    sign = split.scale.sign
    curve = delta_avg_by_n(sign * split.gold, sign * split.predicted)
    correlation = np.corrcoef(split.gold, split.predicted)[0, 1] if len(split.gold) > 1 else np.nan
    drawn = {
        "Predictions against gold labels: a point on the line is right. The mean absolute error is "
        f"{number(float(np.abs(split.gold - split.predicted).mean()), 3)}, "
        f"Pearson's correlation {number(float(correlation), 3)}": png(
            evaluation_plots.predicted_against_gold(split.gold, split.predicted, split.scale), 100
        ),
    }
    if np.isfinite(curve).any():
        drawn[f"{_GAIN}; the mean is {number(float(np.nanmean(curve)), 3)}"] = png(
            evaluation_plots.delta_avg_by_quantiles({name: curve}, len(split.gold))
        )
    return figures(drawn)


def _errors(split: _Split) -> list[tuple[dict[str, str], str]]:
    variables = {"prediction": (split.predicted, f"predicted {scale_label(split.scale)}", 2)}
    if split.segments is not None:
        words = np.array([len(text.split()) for text in split.segments.source], np.float64)
        variables = {"source length": (words, "words in the source", 0), **variables}
    parts = []
    for name, (values, label, digits) in variables.items():
        bands = evaluation_plots.error_bands(values, split.gold, split.predicted)
        image = png(evaluation_plots.errors_by_band(bands, name, label, digits))
        (figure,) = figures({f"Mean absolute error by {name}, with intervals": image})
        parts.append((figure, evaluation_plots.bands_table(f"By {label}", bands, digits)))
    return parts


def _saved_plots(folder: Path, names: Mapping[str, str]) -> list[dict[str, str]]:
    paths = {text: folder / "plots" / f"{name}.png" for text, name in names.items()}
    return figures({text: path.read_bytes() for text, path in paths.items() if path.is_file()})


def _segments(folder: Path, split: _Split) -> tuple[dict[str, list[ShownSegment]], str, bool]:
    order = np.argsort(np.abs(split.predicted - split.gold), kind="stable")
    chosen = {"Largest errors": order[::-1][:SHOWN], "Smallest errors": order[:SHOWN]}
    if split.segments is None:
        return {}, f"The texts cannot be shown: {split.problem}.", False
    rows = np.unique(np.concatenate(list(chosen.values())))
    outputs, problem = _explained(folder / "model", split.segments.take(rows))
    place = {int(row): i for i, row in enumerate(rows)}
    shown = {
        name: [_segment(split, int(row), outputs[place[int(row)]] if outputs else {}) for row in rows]
        for name, rows in chosen.items()
    }
    note = (
        f"No explanations: {problem}."
        if problem
        else "Each with the features that moved the score of the final model most (Shapley values)."
    )
    return shown, note, any(segment.words for group in shown.values() for segment in group)


def _segment(split: _Split, row: int, output: Mapping[str, Any]) -> ShownSegment:
    assert split.segments is not None
    facts = [
        ("segment", str(split.table["id"][row])),
        ("gold", number(float(split.gold[row]), 2)),
        ("predicted", number(float(split.predicted[row]), 2)),
    ]
    notes = [("because", str(output["because"]))] if output.get("because") else []
    return ShownSegment(
        split.segments.source[row], split.segments.target[row], facts, notes, words_of(output)
    )


def _explained(model: Path, segments: Segments) -> tuple[list[dict[str, Any]], str]:
    columns = {name: values for name, values in segments.columns() if values is not None}
    texts = [{name: values[i] for name, values in columns.items()} for i in range(len(segments))]
    try:
        try:
            scorer = Scorer.load(model, Options(explain=3, tokens=True, drift=False))
        except InputError:  # no word-level part
            scorer = Scorer.load(model, Options(explain=3, drift=False))
        outputs = scorer.score([(row, "") for row in texts]).rows
    except InputError as error:
        return [], str(error)
    reasons = {output["reason"] for output in outputs} - {""}
    return ([], min(reasons)) if reasons else (outputs, "")


def _facts(report: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    recipe = report["recipe"]
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    parts = [
        f"{part['part']} {number(part['seconds'], 1)} s ({number(part['cpu_seconds'], 1)} s of CPU)"
        for part in report["time"]
    ]
    return [
        ("best candidate", json.dumps(report["search"]["best"])),
        ("seed", str(recipe["seed"])),
        ("Python and packages", f"{recipe['python']}; {versions}"),
        ("commit of the working directory", recipe["working_directory_commit"] or "not recorded"),
        ("dataset", recipe["dataset"]),
        ("features", recipe["features"]),
        ("resources", ", ".join(f"{name} {value}" for name, value in recipe["resources"].items()) or "none"),
        ("files (SHA-256)", ", ".join(f"{name} {value[:16]}" for name, value in recipe["files"].items())),
        ("time", f"{count(report['seconds'])} s"),
        ("time by part", "; ".join(parts)),
    ]
