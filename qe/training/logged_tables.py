"""Tables of a run: labels, predictions and intervals of segments; figures of systems."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from qe.data.dataset import Split
from qe.training.fitting import bounds_of
from qe.training.reading import scores_of
from qe.training.result import TrainingResult

MOST_ROWS = 10_000  # what a browser still shows; predictions.parquet has all
_TEXTS = ["source", "target"]
_NO_METRICS = ("interval", "n", "ci", "delta_avg_by_n")
_LEVEL = 0.9  # of the intervals, or the highest of a run that does not measure it


def segment_tables(result: TrainingResult, texts: Literal["all", "ids", "none"]) -> dict[str, pd.DataFrame]:
    """Part of the report -> its segments, largest error first; the first MOST_ROWS of them.

    texts  whether rows have source and translation, or their id alone; with `none` there is no table
    """
    if texts == "none":
        return {}
    tables = _segment_tables(result)
    return tables if texts == "all" else {part: table.drop(columns=_TEXTS) for part, table in tables.items()}


def _segment_tables(result: TrainingResult) -> dict[str, pd.DataFrame]:
    prepared = result.prepared
    tables = {"cross_validation": _segments(result, prepared.training, result.out_of_fold)}
    if prepared.test is not None and prepared.dataset.split(prepared.test).scores is not None:
        split = prepared.dataset.split(prepared.test)
        tables["test"] = _segments(result, split, result.predictions[prepared.test])
    return tables


def _segments(result: TrainingResult, split: Split, predicted: FloatArray) -> pd.DataFrame:
    gold, segments = scores_of(split), split.segments
    columns: dict[str, Any] = {
        "id": segments.id,
        "source": segments.source,
        "target": segments.target,
        "gold": gold,
        "prediction": predicted,
        "error": predicted - gold,
    }
    level = _level(result)
    if level is not None:
        low, high = bounds_of(
            result.prepared, result.model, result.companions.intervals, split, predicted, level
        )
        percent = f"{100 * level:g} %"
        columns |= {f"{percent} low": low, f"{percent} high": high, "inside": (low <= gold) & (gold <= high)}
    order = np.argsort(-np.abs(predicted - gold), kind="stable")[:MOST_ROWS]
    return pd.DataFrame(columns).iloc[order].replace([np.inf, -np.inf], np.nan)


def _level(result: TrainingResult) -> float | None:
    levels = [entry.level for entry in result.companions.intervals.measured]
    return _LEVEL if _LEVEL in levels else max(levels, default=None)


def figures_table(report: Mapping[str, Any], parts: Mapping[str, str]) -> pd.DataFrame:
    """One row per figure of each system, baseline and oracle, with 95 % interval and p-values.

    parts  part of the report -> what it is called
    p      of the model's difference to that baseline, corrected
    """
    own = report["experiment"]["name"]
    rows = [
        row
        for part, name in parts.items()
        if report[part] is not None
        for row in [*_systems(report[part], name, own), *_oracles(report[part], name)]
    ]
    return pd.DataFrame(rows, columns=["part", "kind", "system", "metric", "value", "low", "high", "p"])


def _systems(section: Mapping[str, Any], part: str, own: str) -> list[dict[str, Any]]:
    p_values = {(c["baseline"], c["metric"]): c["p_corrected"] for c in section["comparisons"]}
    rows = []
    for system, scores in section["systems"].items():
        kind = "baseline" if system in section["baselines"] else "model"
        for metric, value in scores.items():
            if metric not in _NO_METRICS:
                p = None if system == own else p_values.get((system, metric))
                rows.append(_row(part, kind, system, metric, value, scores["ci"].get(metric), p))
    return rows


def _oracles(section: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    return [
        _row(part, "oracle", name, metric, oracle[metric], (oracle.get("ci") or {}).get(metric), None)
        for name, oracle in (section.get("oracles") or {}).items()
        for metric in ("delta_avg", "spearman", "mae", "rmse")
    ]


def _row(
    part: str, kind: str, system: str, metric: str, value: Any, bounds: Any, p: float | None
) -> dict[str, Any]:
    low, high = bounds or (None, None)
    return {"part": part, "kind": kind, "system": system, "metric": metric, "value": value, "low": low,
            "high": high, "p": p}  # fmt: skip
