"""Search over feature subsets for the best held-out metric."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numba
import numpy as np
from sklearn.base import BaseEstimator

from features.basics.array_types import BoolArray, FloatArray, IntArray, offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count, Folds, Inner, NotNegative, Threads
from features.basics.threads import cores
from qe.config.distributions import Choice, Distribution
from qe.learning.learners.checks import training_data
from qe.learning.selector import Selector
from qe.learning.selectors.columns import LearnerConfig, column_names, matching
from qe.learning.selectors.greedy import Judge, splits
from qe.learning.selectors.paths import estimator_of, held_out_predictions

MAE, RMSE, DELTA_AVG = 0, 1, 2
METRIC_CODES = {"mae": MAE, "rmse": RMSE, "delta_avg": DELTA_AVG}


@numba.njit(cache=True, nogil=True)
def position_weights(n: int) -> Any:
    """Weights w (n,) such that DeltaAvg = sum of w[i] gold[i] over segments ranked best first.

    DeltaAvg is linear in the labels for a given ranking (WMT12 findings, equations 14 and 15).
    """
    heads = np.zeros(n + 1)
    most = n // 2
    for quantiles in range(2, most + 1):
        size = n // quantiles
        for k in range(1, quantiles):
            heads[k * size] += 1.0 / ((most - 1) * (quantiles - 1) * k * size)
    weights = np.full(n, -1.0 / n)
    running = 0.0
    for i in range(n - 1, -1, -1):
        running += heads[i + 1]
        weights[i] += running
    return weights


@numba.njit(cache=True, nogil=True)
def _quality(predicted: Any, gold: Any, weights: Any, metric: int) -> float:
    total = 0.0
    if metric == DELTA_AVG:
        order = np.argsort(-predicted)
        for i in range(len(gold)):
            total += weights[i] * gold[order[i]]
        return total
    for i in range(len(gold)):
        error = abs(predicted[i] - gold[i])
        total += error * error if metric == RMSE else error
    return -np.sqrt(total / len(gold)) if metric == RMSE else -total / len(gold)


@numba.njit(cache=True, nogil=True)
def _sweep(A: Any, pivot: int, reverse: bool) -> None:
    d = A[pivot, pivot]
    size = len(A)
    sign = -1.0 if reverse else 1.0
    for i in range(size):
        if i != pivot:
            factor = A[i, pivot] / d
            for j in range(size):
                if j != pivot:
                    A[i, j] -= factor * A[pivot, j]
    for i in range(size):
        if i != pivot:
            A[i, pivot] *= sign / d
            A[pivot, i] *= sign / d
    A[pivot, pivot] = -1.0 / d


class Problem(NamedTuple):
    """Linear models of k features, and the held-out rows that score them.

    moments  (splits, k + 1, k + 1) Gram matrices of centred train features and labels, ridge included
    held_rows  (n, k) held-out features minus the train means, split after split, from `starts` (splits + 1,)
    means    (n,) the mean train label
    gold     (n,) labels
    weights  (n,) of DeltaAvg
    """

    moments: FloatArray
    held_rows: FloatArray
    starts: IntArray
    means: FloatArray
    gold: FloatArray
    weights: FloatArray


@numba.njit(cache=True, nogil=True)
def exhaustive_scores(problem: Problem, metric: int, first: int, scores: Any) -> None:
    """Fills `scores` of subsets gray(first), gray(first + 1), ...; the empty subset gets -inf."""
    moments, held_out_sums, starts = problem.moments, problem.held_rows, problem.starts
    k = held_out_sums.shape[1]
    current, used = moments.copy(), np.empty(k, np.int64)
    predicted = np.empty(len(held_out_sums))
    mask = first ^ (first >> 1)
    for s in range(len(moments)):
        for j in range(k):
            if mask >> j & 1:
                _sweep(current[s], j, False)
    for i in range(len(scores)):
        if i > 0:
            after = (first + i) ^ ((first + i) >> 1)
            flipped = 0
            while (mask ^ after) >> flipped & 1 == 0:
                flipped += 1
            for s in range(len(moments)):
                _sweep(current[s], flipped, mask >> flipped & 1 == 1)
            mask = after
        if mask == 0:
            scores[i] = -np.inf
            continue
        size = 0
        for j in range(k):
            if mask >> j & 1:
                used[size] = j
                size += 1
        for s in range(len(starts) - 1):
            for row in range(starts[s], starts[s + 1]):
                total = problem.means[row]
                for u in range(size):
                    total += held_out_sums[row, used[u]] * current[s, used[u], k]
                predicted[row] = total
        scores[i] = _quality(predicted, problem.gold, problem.weights, metric)


@numba.njit(cache=True, nogil=True)
def listed_scores(problem: Problem, metric: int, subsets: Any, scores: Any) -> None:
    """Scores the subsets listed as rows of column numbers (subsets, size), one by one."""
    moments, held_out_sums, starts, means, gold, weights = problem
    k, size = held_out_sums.shape[1], subsets.shape[1]
    predicted = np.empty(len(held_out_sums))
    gram, right = np.empty((size, size)), np.empty(size)
    for i in range(len(subsets)):
        chosen = subsets[i]
        for s in range(len(moments)):
            for a in range(size):
                right[a] = moments[s, chosen[a], k]
                for b in range(size):
                    gram[a, b] = moments[s, chosen[a], chosen[b]]
            beta = np.linalg.solve(gram, right)
            for row in range(starts[s], starts[s + 1]):
                total = means[row]
                for a in range(size):
                    total += held_out_sums[row, chosen[a]] * beta[a]
                predicted[row] = total
        scores[i] = _quality(predicted, gold, weights, metric)


Subset = tuple[int, ...]
Splits = list[tuple[IntArray, IntArray]]

_AUTO_EXHAUSTIVE, _AUTO_REFITTED = 19, 10  # maximum features for which `auto` is exhaustive
_MOST_REFITTED = 14  # maximum features: 16,383 fits for every split
_CHUNK = 4096  # subsets between restarts, which limit rounding errors
_MOST_EXHAUSTIVE = 24  # maximum features: 2^24 scores take 134 MB


@dataclass(repr=False, eq=False)
class SubsetSearch(Selector):
    """Scores models on all subsets (`exhaustive`), or near the best ones (`beam`).

    The beam extends the best subsets of each size by one feature, and then tries to drop each feature. After
    fit: `score_` of the best subset (higher is better); `subsets_` (best 64, k), `scores_`.

    Raises InputError for another metric, or exhaustive search over more than 24 features (14 with a learner).

    Source: WMT12 SDLLW, Section 3.2 (there with M5P models, all subsets of 24 features, then of 19).

    Parameters
    ----------
    search : {'auto', 'exhaustive', 'beam'}, default='auto'
        `exhaustive`, `beam`, or `auto`: exhaustive up to 19 features (10 with a `learner`).
    metric : {'mae', 'rmse', 'delta_avg'}, default='delta_avg'
        `mae`, `rmse` or `delta_avg`; `label_sign` -1 if low labels are good (delta_avg).
    folds : int, default=5
        Number of folds, to which contiguous blocks of 31 rows are assigned.
    one_split : bool, default=False
        Only the first fold is held out, as in the paper; False: every fold in turn, pooled.
    validation : float or None, default=None
        Share of the rows, the last ones, held out instead of folds (the paper: 305 of 1,832).
    learner : mapping or None, default=None
        `{kind: NAME, ...}` to be refitted for every subset; None: linear models, updated.
    second : sequence of str, default=()
        Patterns of columns for a second round: the first round searches without them, the second among
        them and the features of most of the best subsets (`vote`). Empty: one round.
    width : int, default=8
        beam: subsets kept per size.
    max_features : int, default=20
        beam: largest size.
    vote : int, default=1
        1: the best subset; more: the features in most of that many best subsets, as in the paper's
        first step (64).
    alpha : float, default=1.0
        Ridge penalty on standardised features, in segments.
    n_jobs : int, default=1
        Threads.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"vote": Choice([1, 64])}

    search: Literal["auto", "exhaustive", "beam"] = "auto"
    metric: Literal["mae", "rmse", "delta_avg"] = "delta_avg"
    folds: Folds = 5
    one_split: bool = False
    width: Count = 8
    max_features: Count = 20
    vote: Count = 1
    alpha: NotNegative = 1.0
    label_sign: float = 1.0
    n_jobs: Threads = 1
    learner: LearnerConfig | None = None
    validation: Inner | None = None
    second: Sequence[str] = ()

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        later = np.zeros(self.n_features_in_, np.bool_)
        for pattern in self.second:
            later |= matching(pattern, column_names(self))
        if later.all():
            raise InputError("every feature is left to the second round", location="second")
        if not later.any():
            self._search(X, y, np.ones(X.shape[1], np.bool_))
            return self
        self._search(X, y, ~later)
        self.first_ = voted(self.subsets_, self.vote)
        self._search(X, y, self.first_ | later)
        return self

    def _search(self, X: FloatArray, y: FloatArray, among: BoolArray) -> None:
        columns, parts = np.flatnonzero(among), splits(len(y), self.folds, self.one_split, self.validation)
        k = len(columns)
        max_subsets = _MOST_EXHAUSTIVE if self.learner is None else _MOST_REFITTED
        if self.search == "exhaustive" and k > max_subsets:
            raise InputError(f"2^{k} subsets are too many", remedy="use `search: beam`, or select before")
        scorer: _Linear | _Refitted
        if self.learner is None:
            problem = _problem(X[:, columns], self.label_sign * y, parts, self.alpha)
            scorer = _Linear(problem, METRIC_CODES[self.metric], k, self.n_jobs)
        else:
            judge = Judge.make(self.metric, y, parts, self.label_sign)
            scorer = _Refitted(estimator_of(self.learner), X[:, columns], y, parts, judge, self.n_jobs)
        few = _AUTO_EXHAUSTIVE if self.learner is None else _AUTO_REFITTED
        exhaustive = self.search == "exhaustive" or (self.search == "auto" and k <= few)
        subsets, scores = scorer.all_best(max(self.vote, 64)) if exhaustive else self._beam(scorer, k)
        best = np.argsort(-scores, kind="stable")[: max(self.vote, 64)]
        self.subsets_ = np.zeros((len(best), X.shape[1]), np.bool_)
        self.subsets_[:, columns] = subsets[best]
        self.scores_ = scores[best]
        self.score_ = float(self.scores_[0])

    def _get_support_mask(self) -> BoolArray:
        return voted(self.subsets_, 1 if len(self.second) else self.vote)

    def _beam(self, scorer: "_Linear | _Refitted", k: int) -> tuple[BoolArray, FloatArray]:
        scores: dict[tuple[int, ...], float] = {}
        front: list[tuple[int, ...]] = [()]
        for size in range(1, min(self.max_features, k) + 1):
            grown = {tuple(sorted((*subset, j))) for subset in front for j in range(k) if j not in subset}
            _add(scorer, grown, scores)
            front = self._best(scores, size)
            if size > 2:
                shrunk = {tuple(j for j in subset if j != out) for subset in front for out in subset}
                _add(scorer, shrunk, scores)
                regrown = self._best(scores, size - 1)
                again = {tuple(sorted((*s, j))) for s in regrown for j in range(k) if j not in s}
                _add(scorer, again, scores)
                front = self._best(scores, size)
        subsets = np.zeros((len(scores), k), np.bool_)
        for row, subset in zip(subsets, scores, strict=True):
            row[list(subset)] = True
        return subsets, np.asarray(list(scores.values()))

    def _best(self, scores: Mapping[tuple[int, ...], float], size: int) -> list[tuple[int, ...]]:
        sized = [(-score, subset) for subset, score in scores.items() if len(subset) == size]
        return [subset for _, subset in sorted(sized)[: self.width]]


def voted(subsets: BoolArray, vote: int) -> BoolArray:
    """Features (k,) in most of the first `vote` subsets, or those of the first subset if there are none."""
    wanted = subsets[:vote].mean(axis=0) > 0.5
    return np.asarray(wanted if wanted.any() else subsets[0])


@dataclass(frozen=True, eq=False)
class _Linear:
    problem: Problem
    metric: int
    k: int
    n_jobs: int

    def listed(self, subsets: Sequence[Subset]) -> FloatArray:
        scores = np.empty(len(subsets))
        listed_scores(self.problem, self.metric, np.asarray(subsets, np.int64), scores)
        return scores

    def all_best(self, max_subsets: int) -> tuple[BoolArray, FloatArray]:
        scores = np.empty(2**self.k)
        starts = range(0, len(scores), _CHUNK)

        def run(first: int) -> None:
            exhaustive_scores(self.problem, self.metric, first, scores[first : first + _CHUNK])

        with ThreadPoolExecutor(self.n_jobs if self.n_jobs > 0 else cores()) as pool:
            list(pool.map(run, starts))
        size = min(max_subsets, len(scores) - 1)
        best = np.sort(np.argpartition(-scores, size - 1)[:size])
        masks = best ^ (best >> 1)
        return np.asarray(masks[:, None] >> np.arange(self.k) & 1, np.bool_), scores[best]


@dataclass(frozen=True, eq=False)
class _Refitted:
    estimator: BaseEstimator
    X: FloatArray
    y: FloatArray
    parts: Splits
    judge: Judge
    n_jobs: int

    def listed(self, subsets: Sequence[Subset]) -> FloatArray:
        with ThreadPoolExecutor(self.n_jobs if self.n_jobs > 0 else cores()) as pool:
            return np.array(list(pool.map(self._score, subsets)))

    def _score(self, subset: Subset) -> float:
        taken = np.isin(np.arange(self.X.shape[1]), subset)
        return self.judge.score(held_out_predictions(self.estimator, self.X, self.y, self.parts, taken))

    def all_best(self, max_subsets: int) -> tuple[BoolArray, FloatArray]:
        k = self.X.shape[1]
        masks = np.asarray(np.arange(1, 2**k)[:, None] >> np.arange(k) & 1, np.bool_)
        return masks, self.listed([tuple(np.flatnonzero(mask).tolist()) for mask in masks])


def _add(scorer: _Linear | _Refitted, wanted: set[Subset], scores: dict[Subset, float]) -> None:
    new = sorted(wanted - scores.keys())
    if new:
        scores.update(zip(new, scorer.listed(new).tolist(), strict=True))


def _problem(X: FloatArray, y: FloatArray, parts: Splits, alpha: float) -> Problem:
    k = X.shape[1]
    moments, held, means = [], [], []
    for train, out in parts:
        centre, mean = X[train].mean(axis=0), y[train].mean()
        both = np.column_stack([X[train] - centre, y[train] - mean])
        moments.append(both.T @ both + alpha * np.diag(np.arange(k + 1) < k))
        held.append(X[out] - centre)
        means.append(np.full(len(out), mean))
    starts = offsets_of([len(part) for part in held])
    gold = y[np.concatenate([out for _, out in parts])]
    weights = position_weights(len(gold)) if len(gold) >= 4 else np.zeros(len(gold))
    return Problem(np.asarray(moments), np.concatenate(held), starts, np.concatenate(means), gold, weights)
