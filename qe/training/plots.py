"""Figures of a run: the search, importances of features and parameters, predictions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import optuna
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from qe.data.dataset import LabelScale
from qe.display import charts
from qe.display.charts import describe
from qe.display.numbers import number
from qe.evaluation import plots as evaluation_plots
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS, title_of
from qe.statistics.metrics.ranking import delta_avg_by_n
from qe.training.objective import FoldData, Objective
from qe.training.search import SearchResult
from qe.training.study import quiet

MIN_TRIALS: Final = 8  # fewer give importances that are noise
_MAX_PANELS: Final = 6
_MAX_FITS = 400  # (feature, fold) pairs
_MAX_ROWS = 2000  # of all held-out folds together, at random: enough for a plot
_MIN_ROWS = 100  # of these, even if a learner predicts slowly
# CPU seconds that shuffling may take, or this share of those of the run so far; and at most
_SECONDS, _SHARE, _MAX_SECONDS = 2.0, 0.05, 10.0
_MAX_VALUES = 4_000_000  # in the tables that are predicted at once (32 MB)


def study_history(values: ArrayLike, direction: Literal["maximize", "minimize"], metric: str) -> Figure:
    """The objective per trial (n,), NaN without a value, in trial order, and the best value so far.

    Values that would flatten the rest are triangles at the edge.
    """
    heights, higher = np.asarray(values, np.float64), direction == "maximize"
    finished = np.isfinite(heights)
    if not finished.any():
        raise InputError("no finished trial to plot")
    trials = np.arange(1, len(heights) + 1)
    figure, (axes,) = charts.panels(7.6, 4.4)
    low, high = _history_limits(heights[finished], higher)
    outside = finished & ~((heights >= low) & (heights <= high))
    inside = finished & ~outside
    axes.plot(trials[inside], heights[inside], "o", color=charts.BLUE, alpha=0.55, label="trial")
    if outside.any():
        edge, marker = (low, "v") if higher else (high, "^")
        label = f"{outside.sum()} beyond the axis"
        edges = np.full(outside.sum(), edge)
        axes.plot(trials[outside], edges, marker, color=charts.GREY, clip_on=False, label=label)
    best = (np.fmax if higher else np.fmin).accumulate(heights)
    charts.curve(axes, trials, best, place=1, drawstyle="steps-post", label="best so far")
    axes.locator_params("x", integer=True, min_n_ticks=1)
    winner = int((np.nanargmax if higher else np.nanargmin)(heights))
    counted = f"finished trials: n = {finished.sum():,}"
    counted += "" if finished.all() else f" of {len(heights):,}"
    describe(
        axes, "Search", f"{counted} · best {number(heights[winner], 4)} at trial {winner + 1} ({direction})",
        "lower right" if higher else "upper right", xlabel="trial", ylabel=metric, ylim=(low, high),
        xlim=(0.5, len(heights) + 0.5),
    )  # fmt: skip
    return figure


def _history_limits(values: FloatArray, higher: bool) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    quarter, median, three = np.percentile(values, [25, 50, 75])
    reach = 3 * max(three - quarter, 0.02 * abs(median), 1e-9)
    if higher:
        low = max(low, float(quarter - reach))
    else:
        high = min(high, float(three + reach))
    margin = 0.06 * (high - low) or max(0.1 * abs(low), 0.01)
    return low - margin, high + margin


def pareto_front(result: SearchResult) -> Figure:
    table, front = result.history(), [entry["trial"] for entry in result.front()]
    across, up = result.objective.metrics[:2]
    figure, (axes,) = charts.panels(6.4, 5.2)
    axes.plot(table[across], table[up], "o", color=charts.GREY, markersize=5, label="trial")
    best = table[table["trial"].isin(front)].sort_values(across)
    charts.curve(axes, best[across], best[up], place=1, marker="o", label="front")
    for place in zip(best[across], best[up], best["trial"], strict=True):
        axes.annotate(f"{place[2]:.0f}", place[:2], xytext=(4, 4), textcoords="offset points")
    note = f"{len(best)} of {len(table)} trials, with their numbers"
    describe(axes, "Pareto front", note, "best", xlabel=title_of(across), ylabel=title_of(up))
    return figure


def importances(result: SearchResult) -> dict[str, float]:
    """Parameter -> its share of the variance of the first metric (fANOVA), largest first.

    Only trials of the chosen learner and selector count; none if they are fewer than 8, or do not differ.
    Source: Hutter, Hoos and Leyton-Brown 2014.
    """
    trials = _comparable(result)
    if len(trials) < MIN_TRIALS or len({trial.values[0] for trial in trials}) == 1:
        return {}
    with quiet():
        study = optuna.create_study(direction=result.study.directions[0])
        study.add_trials([
            optuna.trial.create_trial(
                value=trial.values[0], params=trial.params, distributions=trial.distributions
            )
            for trial in trials
        ])  # fmt: skip
        shares = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    return {name: float(share) for name, share in shares.items()}


def _comparable(result: SearchResult) -> list[FrozenTrial]:
    names = result.best_trial.params.keys()
    return [trial for trial in result.finished if trial.params.keys() == names]


def slices(result: SearchResult, shares: dict[str, float]) -> Figure:
    """The first metric by the value of each parameter of `shares`; the chosen trial is red."""
    trials, metric = _comparable(result), result.objective.metrics[0]
    names = list(shares)[:_MAX_PANELS]
    figure, panels = charts.panels(7.6, 1.6 + 2.4 * len(names), len(names))
    heights = np.array([trial.values[0] for trial in trials])
    best = trials.index(result.best_trial)
    for axes, name in zip(panels, names, strict=True):
        values = [trial.params[name] for trial in trials]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            places = [float(value) for value in values]
        else:
            labels = sorted(set(map(str, values)))
            places = [float(labels.index(str(value))) for value in values]
            axes.set_xticks(range(len(labels)), labels)
        axes.plot(places, heights, "o", color=charts.BLUE, alpha=0.55, markersize=5)
        axes.plot(places[best], heights[best], "o", color=charts.VERMILLION, markersize=8)
        if getattr(result.best_trial.distributions[name], "log", False):
            axes.set_xscale("log")
        axes.set(xlabel=f"{name} ({number(shares[name], 2)} of the variance)", ylabel=title_of(metric))
    better = "higher is better" if METRICS.get(metric).higher_is_better else "lower is better"
    describe(panels[0], "Search by parameter", f"{len(trials)} trials; {better}; in red the chosen one")
    return figure


def permutation_importance(
    objective: Objective, best: Candidate, progress: Progress = silent
) -> tuple[list[str], FloatArray, FloatArray]:
    """Names, means and spreads over folds of the rise in MAE when one column is shuffled, in little time."""
    names = list(objective.folds[0].train.columns)
    folds = objective.folds[: max(1, min(len(objective.folds), _MAX_FITS // max(len(names), 1)))]
    with threadpool_limits(1):  # learners predict by one thread each
        seconds = min(_MAX_SECONDS, max(_SECONDS, _SHARE * time.process_time()))
        shuffled = list(
            side_by_side(lambda fold: _Shuffled.make(fold, best, objective, len(folds), seconds), folds)
        )
        tasks = [(rows, block) for rows in shuffled for block in rows.blocks()]
        blocks = list[FloatArray]()
        for errors in side_by_side(lambda task: task[0].errors(task[1]), tasks):
            blocks.append(errors)
            progress("importance of features", len(blocks), len(tasks))
        errors = np.concatenate(blocks)
    rises = errors.reshape(len(folds), len(names)) - [[rows.error_unshuffled] for rows in shuffled]
    spread = rises.std(axis=0, ddof=1) if len(folds) > 1 else np.zeros(len(names))
    return names, rises.mean(axis=0), spread


@dataclass(frozen=True)
class _Shuffled:
    table: pd.DataFrame
    orders: list[np.ndarray]
    error: Callable[[pd.DataFrame], FloatArray]
    error_unshuffled: float

    @classmethod
    def make(
        cls, fold: FoldData, best: Candidate, objective: Objective, folds: int, seconds: float
    ) -> "_Shuffled":
        predict = fold.fitted(best, objective.seed)
        generator = np.random.default_rng(objective.seed)
        _, table = fold.prepared(best)
        rows = _sample(np.arange(len(table)), max(1, _MAX_ROWS // folds), generator)
        drawn = table.iloc[rows]
        predict(drawn.iloc[:1])  # loads compiled code
        started = time.thread_time()
        predict(drawn)
        taken = (time.thread_time() - started) * drawn.shape[1] * folds
        affordable = int(len(drawn) * min(1.0, seconds / max(taken, 1e-9)))
        rows = _sample(rows, max(1, _MIN_ROWS // folds, affordable), generator)
        table, gold = table.iloc[rows], np.asarray(fold.gold)[rows]

        def error(tables: pd.DataFrame) -> FloatArray:
            predicted = objective.scale.clip(predict(tables)).reshape(-1, len(rows))
            return np.asarray(np.abs(gold - predicted).mean(axis=1))

        orders = [generator.permutation(len(rows)) for _ in table.columns]
        return cls(table, orders, error, float(error(table)[0]))

    def blocks(self) -> list[range]:
        size = max(1, _MAX_VALUES // max(self.table.size, 1))
        columns = range(len(self.orders))
        return [columns[start : start + size] for start in range(0, len(columns), size)]

    def errors(self, block: range) -> FloatArray:
        n = len(self.table)
        moved = [column for column in block if (self.orders[column] != np.arange(n)).any()]
        errors = np.full(len(block), self.error_unshuffled)
        if not moved:
            return errors
        tables = self.table.iloc[np.tile(np.arange(n), len(moved))].copy()
        for place, column in enumerate(moved):
            values = self.table.iloc[:, column].to_numpy()[self.orders[column]]
            tables.iloc[place * n : (place + 1) * n, column] = values
        errors[np.array(moved) - block.start] = self.error(tables)
        return errors


def _sample(rows: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= size else np.sort(generator.choice(rows, size, replace=False))


def feature_importance(
    names: Sequence[str],
    values: ArrayLike,
    spread: ArrayLike | None = None,
    top: int = 30,
    *,
    unit: str = "importance",
    spread_name: str = "± 1 standard deviation",
) -> Figure:
    """The `top` features of highest importance, highest first; `spread` has half-lengths of whiskers."""
    heights = np.asarray(values, np.float64)
    if len(names) != len(heights):
        raise InputError(
            f"every feature needs an importance, but got {len(names)} names, {len(heights)} values"
        )
    defined = np.flatnonzero(np.isfinite(heights))
    if not len(defined):
        raise InputError("no feature importance to plot")
    rows = defined[np.argsort(-heights[defined], kind="stable")][:top]
    figure, (axes,) = charts.panels(8.0, 1.5 + 0.24 * max(len(rows), 4))
    ends = None
    if spread is not None:
        reach = np.nan_to_num(np.asarray(spread, np.float64)[rows])
        ends = np.stack([heights[rows] - reach, heights[rows] + reach], axis=1)
    charts.bars(axes, heights[rows], ends)
    charts.rows(axes, [names[i] for i in rows])
    axes.axvline(0, color=charts.INK, linewidth=1)
    shown = f"top {len(rows)} of {len(names)}" if len(rows) < len(names) else f"n = {len(rows)}"
    undefined = f"{len(names) - len(defined)} undefined" if len(defined) < len(names) else ""
    note = " · ".join(filter(None, (f"{shown} features", undefined, "" if spread is None else spread_name)))
    describe(axes, "Feature importance", note, xlabel=unit)
    return figure


def prediction_figures(output: Path, report: Mapping[str, Any], split: str) -> dict[str, Figure]:
    table = pd.read_parquet(output / "predictions.parquet").dropna(subset=["gold", "predicted"])
    rows = table[table["split"] == known_name("split with labels", split, table["split"].unique())]
    gold, predicted = (np.asarray(rows[name], np.float64) for name in ("gold", "predicted"))
    scale = LabelScale(**report["data"]["label"])
    curve = delta_avg_by_n(scale.sign * gold, scale.sign * predicted)
    return {
        "predicted_against_gold": evaluation_plots.predicted_against_gold(gold, predicted, scale),
        "residuals": evaluation_plots.residuals(gold, predicted, scale),
        "delta_avg": evaluation_plots.delta_avg_by_quantiles({report["experiment"]["name"]: curve}),
    }
