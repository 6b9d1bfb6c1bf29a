"""Learning curves: how good a model is that has fewer labels to learn from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.basics.undefined import finite_or_none
from qe.config.experiment import Experiment
from qe.display.summary import summarised, table_by
from qe.display.table import Table
from qe.evaluation.evaluate import SystemScores, evaluate
from qe.models.pipeline import Candidate
from qe.training.candidates import best_candidate, fold_data
from qe.training.check import check
from qe.training.objective import Objective
from qe.training.preparation import Prepared, prepare

ERRORS = ("mae", "rmse")  # which have a percentage slope
METRICS = ("pearson", "spearman", "delta_avg", "mae", "rmse")
WITH, ALONE = "with the other datasets", "its own labels alone"


@dataclass(frozen=True, eq=False)
class Size:
    """Out-of-fold figures of models that learned from `rows` rows, one entry per draw.

    predicted  (draws, n) predictions of all rows
    """

    rows: int
    draws: tuple[SystemScores, ...]
    predicted: FloatArray

    def mean(self, metric: str) -> float:
        """The mean over draws. Raises InputError for an unknown metric, as the other methods do."""
        return float(np.mean(self._of(metric)))

    def _of(self, metric: str) -> list[float]:
        return [draw.metrics[known_name("metric", metric, draw.metrics)] for draw in self.draws]

    def interval(self, metric: str) -> tuple[float, float] | None:
        """95 %, over segments: bounds of the draws, averaged; None without resampling."""
        self._of(metric)
        if any(metric not in draw.ci for draw in self.draws):
            return None
        low, high = np.mean([draw.ci[metric] for draw in self.draws], axis=0)
        return float(low), float(high)

    def span(self, metric: str) -> tuple[float, float]:
        """Smallest and largest of the draws."""
        values = self._of(metric)
        return min(values), max(values)


@summarised
@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Sizes, the smallest first, all with the candidate that a search with all rows chose."""

    candidate: Candidate
    sizes: tuple[Size, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "candidate": self.candidate.settings(),
            "learning_curve": [
                {
                    "rows": size.rows,
                    "draws": [draw.to_json() for draw in size.draws],
                    **{
                        metric: {"mean": size.mean(metric), "ci": size.interval(metric)} for metric in METRICS
                    },
                }
                for size in self.sizes
            ],
            "percentage_slope": {metric: finite_or_none(self.percentage_slope(metric)) for metric in ERRORS},
        }

    def summary(self) -> Table:
        """Figures by training rows."""
        return table_by("qe.training.ablation_tables.curve_table", self, "")

    def percentage_slope(self, metric: str) -> float:
        """Slope of an error by numbers of rows, see `percentage_slope`."""
        return percentage_slope(
            [size.rows for size in self.sizes], [size.mean(metric) for size in self.sizes]
        )


def percentage_slope(rows: Sequence[float], errors: Sequence[float]) -> float:
    """The slope S of error = a rows^b, in %.

    S is the share of the error that is left when the rows are doubled.

    S = 10^(b log10(2) + 2) = 100 * 2^b, by least squares of logarithms: 100 if nothing is learned. NaN for
    fewer than two sizes, and for errors that are not above 0.

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
    """Learning curves by name: with and without auxiliary data, if there are any; else one.

    Raises InputError as `learning_curve` does.
    """
    variants = {WITH: experiment, ALONE: without_others(experiment)}
    names = (WITH, ALONE) if experiment.others else (ALONE,)
    return {
        name: learning_curve(
            variants[name], sizes, cache=cache, draws=draws, samples=samples, seed=seed, progress=progress
        )
        for name in names
    }


def without_others(experiment: Experiment) -> Experiment:
    """The experiment with its first dataset alone."""
    return experiment.model_copy(update={"datasets": experiment.datasets[:1]})


def learning_curve(
    experiment: Experiment,
    sizes: Sequence[int],
    *,
    cache: Path,
    draws: int = 3,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> LearningCurve:
    """Figures of models that learn from `sizes` rows.

    The rows are drawn at random `draws` times from the training rows of each fold.

    A larger draw holds the smaller one of the same number; all rows are drawn once. Families that learn from
    labels learn from the drawn rows alone. Rows of other datasets help at every size. Resources may hold the
    references of all rows: independent translations are parallel text, which is there without any annotation.

    Raises InputError if a fold has fewer rows than the largest size, or resources hold post-edits.
    """
    if experiment.resources is not None and set(experiment.resources.texts) - {"reference"}:
        raise InputError(
            "a learning curve draws labels, but resources would hold the post-edits of all segments",
            location="resources.texts",
            remedy="set dataset.rows for each size instead, or leave out `post_edit`",
        )
    data = prepare(check(experiment), cache, progress)
    smallest = min(len(train) for train, _ in data.first_folds)
    if max(sizes) > smallest:
        raise InputError(
            f"{max(sizes)} rows cannot be drawn: a fold has {smallest} training rows",
            location="--sizes",
            remedy="name smaller sizes",
        )
    candidate, objective = best_candidate(data, progress)
    ordered, curve = sorted(set(sizes)), []
    for done, size in enumerate(ordered):
        figures, gathered = [], []
        for draw in range(draws if size < smallest else 1):
            progress("learning curve", done * draws + draw, len(ordered) * draws)
            predicted = _predicted(data, objective, candidate, size, np.random.SeedSequence([seed, draw]))
            report = evaluate(
                data.scores,
                {"model": predicted},
                data.dataset.scale,
                metrics=METRICS,
                samples=samples,
                seed=seed,
            )
            figures.append(report.systems["model"])
            gathered.append(predicted)
        curve.append(Size(size, tuple(figures), np.stack(gathered)))
    progress("learning curve", len(ordered) * draws, len(ordered) * draws)
    return LearningCurve(candidate, tuple(curve))


def _predicted(
    data: Prepared, objective: Objective, candidate: Candidate, size: int, seed: np.random.SeedSequence
) -> FloatArray:
    generators = [np.random.default_rng(child) for child in seed.spawn(len(data.first_folds))]
    folds = []
    for (train, held_out), generator in zip(data.first_folds, generators, strict=True):
        rows = np.sort(generator.permutation(train)[:size])
        folds.append(fold_data(data, data.training, rows, held_out, data.fold(rows, held_out)))
    gathered = np.full(len(data.training), np.nan)
    for fold, predicted in zip(folds, replace(objective, folds=folds).predictions(candidate), strict=True):
        gathered[fold.rows] = predicted
    return gathered
