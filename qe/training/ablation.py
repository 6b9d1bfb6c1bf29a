"""Ablation: each feature family alone, left out or added; and learning curves over training rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.display import charts
from qe.display.files import plain_fields
from qe.display.numbers import count, number, signed
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe.evaluation.evaluate import Report, SystemScores, evaluate
from qe.evaluation.tables import p_cell
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS, title_of
from qe.statistics.settings import SignificanceSettings
from qe.training.check import check
from qe.training.objective import FoldData, Objective
from qe.training.preparation import Prepared, feature_tables, prepare
from qe.training.search import best_candidate, gathered, search_candidates

SUBSET_METRICS = ("delta_avg", "spearman", "mae", "rmse")
FRACTIONS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_TABLE_METRICS = ("delta_avg", "mae", "spearman")
ERRORS = ("mae", "rmse")  # metrics with a percentage slope
CURVE_METRICS = ("pearson", "spearman", "delta_avg", "mae", "rmse")
WITH, ALONE = "with the other datasets", "its own labels alone"


@dataclass(frozen=True)
class Ablation(Printable):
    """Out-of-fold figures of feature subsets and of training set sizes, all with one candidate.

    Attributes
    ----------
    report : Report
        Systems `all`, `only FAMILY`, `without FAMILY` (and `BASE + FAMILY`), each against `all` (or
        BASE).
    sizes : mapping of str to int
        Columns per system.
    curve : mapping of int to mapping of str to float
        Number of training rows -> metric -> value.
    """

    candidate: Candidate
    report: Report
    sizes: Mapping[str, int]
    curve: Mapping[int, Mapping[str, float]]

    def summary(self) -> Table:
        """The subsets of features compared with the reference."""
        titles = [METRICS.get(metric).title for metric in _TABLE_METRICS]
        columns = [Column("features"), Column("columns", drop=1), Column(titles[0], _TABLE_METRICS[0])]
        columns += [Column("difference"), Column("p (Holm)", "p")]
        columns += [Column(titles[1], _TABLE_METRICS[1], drop=2)]
        columns += [Column(titles[2], _TABLE_METRICS[2], drop=3)]
        rows = []
        for name, system in self.report.systems.items():
            first, *others = (METRICS.get(m).formatted(system.metrics[m]) for m in _TABLE_METRICS)
            compared: list[str] = ["", ""]
            if self.report.comparisons and name != self.report.baselines[0]:
                pair = self.report.comparison(name, self.report.baselines[0], _TABLE_METRICS[0])
                compared = [signed(pair.result.difference), p_cell(pair)]
            rows.append([name, count(self.sizes[name]), first, *compared, *others])
        return Table("", columns, rows)


def ablate(
    experiment: Experiment,
    *,
    cache: Path,
    base: Sequence[str] = (),
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Ablation:
    """Searches once with all features, then measures subsets with the parameters found.

    `base` names families that every other one is added to. InputError for an unknown one, or one family.
    """
    data = prepare(check(experiment), cache, progress)
    families = data.extraction.feature_set.families()
    names = list(dict.fromkeys(families.values()))
    if len(names) < 2:
        raise InputError(f"an ablation needs at least two feature families, but there is only {names[0]}")
    for name in base:
        if name not in names:
            raise InputError(f"no family '{name}' in this experiment", remedy=f"it has {', '.join(names)}")
    result = search_candidates(data, feature_tables(data), progress=progress)
    folds = result.objective.folds[: len(data.first_folds)]
    subsets, predictions = _subsets(names, families, base), {}
    for done, (system, columns) in enumerate(subsets.items()):
        progress("ablation", done, len(subsets))
        restricted = [replace(f, train=f.train[columns], test=f.test[columns]) for f in folds]
        predictions[system] = _out_of_fold(result.objective, restricted, result.best)
    report = evaluate(
        data.scores,
        predictions,
        data.dataset.scale,
        SignificanceSettings(samples=samples, seed=seed),
        baselines=(f"base: {' + '.join(base)}",) if base else ("all",),
        metrics=SUBSET_METRICS,
    )
    curve = {}
    for done, fraction in enumerate(FRACTIONS):
        progress("learning curve", done, len(FRACTIONS))
        thinned = [_sample_rows(fold, fraction, seed) for fold in folds]
        predicted = _out_of_fold(result.objective, thinned, result.best)
        settings = SignificanceSettings(samples=0)
        scored = evaluate(
            data.scores, {"all": predicted}, data.dataset.scale, settings, metrics=SUBSET_METRICS
        )
        rows = int(np.mean([round(fraction * (len(fold.scores) - fold.n_added)) for fold in folds]))
        curve[rows] = dict(scored.systems["all"].metrics)
    return Ablation(result.best, report, {s: len(columns) for s, columns in subsets.items()}, curve)


def _subsets(names: Sequence[str], families: Mapping[str, str], base: Sequence[str]) -> dict[str, list[str]]:
    def columns(selected: Sequence[str]) -> list[str]:
        return [column for column, family in families.items() if family in selected]

    subsets = {"all": columns(names)}
    if base:
        subsets[f"base: {' + '.join(base)}"] = columns(base)
        return subsets | {f"base + {name}": columns([*base, name]) for name in names if name not in base}
    subsets |= {f"only {name}": columns([name]) for name in names}
    return subsets | {f"without {name}": columns([n for n in names if n != name]) for name in names}


def _out_of_fold(objective: Objective, folds: Sequence[FoldData], candidate: Candidate) -> FloatArray:
    predictions = replace(objective, folds=folds).predictions(candidate)
    first: FloatArray = gathered(folds, predictions, len(folds))[0]
    return first


def _sample_rows(fold: FoldData, fraction: float, seed: int) -> FoldData:
    n = len(fold.scores) - fold.n_added
    sample = np.sort(np.random.default_rng(seed).permutation(n)[: round(fraction * n)])
    rows = np.concatenate([sample, np.arange(n, len(fold.scores))])
    weights = None if fold.weights is None else fold.weights[rows]
    places = None if fold.training_rows is None else fold.training_rows[sample]
    return replace(
        fold, train=fold.train.iloc[rows], scores=fold.scores[rows], weights=weights, training_rows=places
    )


def to_json(ablation: Ablation) -> dict[str, Any]:
    return {
        "candidate": ablation.candidate.settings(),
        "columns": ablation.sizes,
        "learning_curve": ablation.curve,
        **ablation.report.to_json(),
    }


def ablation_tables(ablation: Ablation) -> list[Table]:
    columns = [Column("training rows"), *(Column(METRICS.get(m).title, m) for m in _TABLE_METRICS)]
    rows = [
        [count(size), *(METRICS.get(m).formatted(values[m]) for m in _TABLE_METRICS)]
        for size, values in ablation.curve.items()
    ]
    return [ablation.summary(), Table("learning curve", columns, rows)]


@dataclass(frozen=True, eq=False)
class Size:
    """Out-of-fold figures by `rows` training rows, one entry per draw; `predicted` is (draws, n)."""

    rows: int
    draws: tuple[SystemScores, ...]
    predicted: FloatArray

    def mean(self, metric: str) -> float:
        return float(np.mean(self._values(metric)))

    def _values(self, metric: str) -> list[float]:
        return [draw.metrics[known_name("metric", metric, draw.metrics)] for draw in self.draws]

    def interval(self, metric: str) -> tuple[float, float] | None:
        """95 %, over segments: bounds of the draws, averaged; None without resampling."""
        self._values(metric)
        if any(metric not in draw.ci for draw in self.draws):
            return None
        low, high = np.mean([draw.ci[metric] for draw in self.draws], axis=0)
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class LearningCurve(Printable):
    """Sizes, the smallest first, all with the candidate that a search with all rows chose."""

    candidate: Candidate
    sizes: tuple[Size, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        figures = [
            {m: {"mean": size.mean(m), "ci": size.interval(m)} for m in CURVE_METRICS} for size in self.sizes
        ]
        sizes = zip(self.sizes, figures, strict=True)
        return plain_fields(
            {
                "candidate": self.candidate.settings(),
                "learning_curve": [
                    {"rows": size.rows, "draws": size.draws, **means} for size, means in sizes
                ],
                "percentage_slope": {metric: self.percentage_slope(metric) for metric in ERRORS},
            }
        )

    def summary(self) -> Table:
        """Figures by training rows."""
        return curve_table(self, "")

    def plot(self, metric: str = "pearson") -> Figure:
        """A figure of one metric over training rows."""
        return learning_curve_plot({ALONE: self}, metric)

    def percentage_slope(self, metric: str) -> float:
        """See `percentage_slope`."""
        return percentage_slope(
            [size.rows for size in self.sizes], [size.mean(metric) for size in self.sizes]
        )


def percentage_slope(rows: Sequence[float], errors: Sequence[float]) -> float:
    """The slope S of error = a rows^b, in %: the share of the error that remains when the rows are doubled.

    S = 100 * 2^b by least squares of logarithms; NaN for fewer than two sizes, and errors not above 0.
    Source: Bertoldi et al. 2012, equations 1 and 2 (model U).

    >>> round(percentage_slope([100, 200, 400], [0.5, 0.45, 0.405]), 6)
    90.0
    """
    x, y = np.asarray(rows, np.float64), np.asarray(errors, np.float64)
    if len(np.unique(x)) < 2 or not (y > 0).all():
        return float("nan")
    b = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    return float(10 ** (b * np.log10(2) + 2))


def learning_curves(
    experiment: Experiment,
    sizes: Sequence[int],
    *,
    cache: Path,
    draws: int = 3,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, LearningCurve]:
    """Learning curves by name: with and without auxiliary data, if there are any; else one."""
    variants = {WITH: experiment} if experiment.auxiliary_datasets else {}
    variants[ALONE] = experiment.model_copy(update={"datasets": experiment.datasets[:1]})
    return {
        name: learning_curve(
            variant, sizes, cache=cache, draws=draws, samples=samples, seed=seed, progress=progress
        )
        for name, variant in variants.items()
    }


def learning_curve(
    experiment: Experiment,
    sizes: Sequence[int],
    *,
    cache: Path,
    draws: int = 3,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    dataset: Dataset | None = None,
) -> LearningCurve:
    """Figures of models that learn from `sizes` rows, drawn `draws` times from each fold's training rows."""
    if experiment.resources is not None and set(experiment.resources.texts) - {"reference"}:
        raise InputError(
            "a learning curve draws labels, but resources would hold the post-edits of all segments",
            location="resources.texts",
            remedy="set dataset.rows for each size instead, or leave out `post_edit`",
        )
    plan = check(experiment, in_memory=dataset is not None)
    data = prepare(plan, cache, progress, dataset=dataset)
    smallest = min(len(train_rows) for train_rows, _ in data.first_folds)
    if max(sizes) > smallest:
        raise InputError(
            f"{max(sizes)} rows cannot be drawn: a fold has {smallest} training rows",
            location="--sizes",
            remedy="name smaller sizes",
        )
    candidate, objective = best_candidate(data, progress)
    ordered, curve = sorted(set(sizes)), []
    for done, size in enumerate(ordered):
        figures, predictions = [], []
        for draw in range(draws if size < smallest else 1):
            progress("learning curve", done * draws + draw, len(ordered) * draws)
            folds = _sampled_folds(data, size, np.random.SeedSequence([seed, draw]))
            predicted = _out_of_fold(objective, folds, candidate)
            settings = SignificanceSettings(samples=samples, seed=seed)
            report = evaluate(
                data.scores, {"model": predicted}, data.dataset.scale, settings, metrics=CURVE_METRICS
            )
            figures.append(report.systems["model"])
            predictions.append(predicted)
        curve.append(Size(size, tuple(figures), np.stack(predictions)))
    progress("learning curve", len(ordered) * draws, len(ordered) * draws)
    return LearningCurve(candidate, tuple(curve))


def _sampled_folds(data: Prepared, size: int, seed: np.random.SeedSequence) -> list[FoldData]:
    folds = []
    for (train_rows, test_rows), child in zip(
        data.first_folds, seed.spawn(len(data.first_folds)), strict=True
    ):
        rows = np.sort(np.random.default_rng(child).permutation(train_rows)[:size])
        folds.append(data.fold_data(data.training, rows, test_rows, data.fold(rows, test_rows)))
    return folds


def curve_table(curve: LearningCurve, suffix: str) -> Table:
    columns = [Column("training rows")]
    columns += [Column(METRICS.get(m).title, m, drop=place) for place, m in enumerate(CURVE_METRICS)]
    rows = [
        [
            count(size.rows),
            *(METRICS.get(m).formatted(size.mean(m), size.interval(m)) for m in CURVE_METRICS),
        ]
        for size in curve.sizes
    ]
    slopes = ", ".join(f"{metric} {number(curve.percentage_slope(metric), 1)} %" for metric in ERRORS)
    note = f"percentage slope (Bertoldi et al. 2012): doubling the rows leaves {slopes} of the error"
    title = f"learning curve{suffix}; [95 % over segments], mean of the draws"
    return Table(title, columns, rows, [note] if len(curve.sizes) > 1 else [])


def learning_curve_plot(curves: Mapping[str, LearningCurve], metric: str) -> Figure:
    figure, (axes,) = charts.panels(7.0, 4.4)
    for name, curve in curves.items():
        colour, rows = charts.BLUE if name == ALONE else charts.ORANGE, [size.rows for size in curve.sizes]
        for size in curve.sizes:
            values = [draw.metrics[metric] for draw in size.draws]
            axes.plot([size.rows] * len(values), values, "o", color=colour, alpha=0.45, markersize=4)
        means, intervals = [s.mean(metric) for s in curve.sizes], [s.interval(metric) for s in curve.sizes]
        ends = np.array(intervals, np.float64) if all(intervals) else None
        charts.curve(axes, rows, means, ends, color=colour, label=name if len(curves) > 1 else "mean")
    charts.log_ticks(axes, sorted({size.rows for curve in curves.values() for size in curve.sizes}))
    draws = max(len(size.draws) for curve in curves.values() for size in curve.sizes)
    note = f"out of fold · {draws} draws of the rows, of all rows one · bands: 95 %, over segments"
    charts.describe(axes, "Learning curve", note, "best", xlabel="training rows", ylabel=title_of(metric))
    return figure
