"""Search over subsets of features for the best held-out metric."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution

from features.core.errors import InputError
from qe.selection._base import Selector
from qe.selection._checks import BoolArray, training_data
from qe.selection._held_out import splits
from qe.selection._subsets import METRIC_CODES, exhaustive_scores, listed_scores, position_weights

FloatArray = NDArray[np.float64]

_CHUNK = 4096  # subsets between fresh starts, so that rounding does not add up
_MOST_EXHAUSTIVE = 24  # features: 2^24 scores take 134 MB


class SubsetSearch(Selector):
    """Scores linear models on all subsets (`exhaustive`), or on those next to the best ones found (`beam`).

    search        `exhaustive`, `beam`, or `auto`: exhaustive up to 19 features
    metric        `mae`, `rmse` or `delta_avg`; `label_sign` -1 where a low label is good (delta_avg)
    folds         contiguous blocks of 31 rows are dealt to so many folds
    one_split     only the first fold is held out, as in the paper; False: every fold in turn, pooled
    width         beam: subsets kept per size
    max_features  beam: largest size
    vote          1: the best subset; more: the features that most of so many best subsets have, as in the
                  paper's first step (64)
    alpha         ridge penalty on standardised features, in segments
    n_jobs        threads

    The beam grows the best subsets of each size by one feature, and tries dropping each feature again.
    After fit: `score_` of the best subset (higher is better); `subsets_` (best 64, k), `scores_`.

    Raises InputError for another metric, or exhaustive search over more than 24 features.

    Source: WMT12 SDLLW, Section 3.2 (there with M5P models).
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {"vote": CategoricalDistribution([1, 64])}

    def __init__(
        self,
        search: str = "auto",
        metric: str = "delta_avg",
        folds: int = 5,
        one_split: bool = False,
        width: int = 8,
        max_features: int = 20,
        vote: int = 1,
        alpha: float = 1.0,
        label_sign: float = 1.0,
        n_jobs: int = 1,
    ) -> None:
        self.search = search
        self.metric = metric
        self.folds = folds
        self.one_split = one_split
        self.width = width
        self.max_features = max_features
        self.vote = vote
        self.alpha = alpha
        self.label_sign = label_sign
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self._check(X.shape[1])
        problem = _problem(X, self.label_sign * y, splits(len(y), self.folds, self.one_split), self.alpha)
        exhaustive = self.search == "exhaustive" or (self.search == "auto" and X.shape[1] <= 19)
        subsets, scores = self._all(problem, X.shape[1]) if exhaustive else self._beam(problem, X.shape[1])
        best = np.argsort(-scores, kind="stable")[: max(self.vote, 64)]
        self.subsets_, self.scores_ = subsets[best], scores[best]
        self.score_ = float(self.scores_[0])
        return self

    def _get_support_mask(self) -> BoolArray:
        share = self.subsets_[: self.vote].mean(axis=0)
        wanted = share > 0.5
        return np.asarray(wanted if wanted.any() else self.subsets_[0])

    def _check(self, k: int) -> None:
        if self.search not in ("auto", "exhaustive", "beam"):
            raise InputError(f"unknown search '{self.search}'", remedy="known: auto, beam, exhaustive")
        if self.metric not in METRIC_CODES:
            raise InputError(
                f"cannot optimise '{self.metric}'", remedy=f"known: {', '.join(sorted(METRIC_CODES))}"
            )
        if self.search == "exhaustive" and k > _MOST_EXHAUSTIVE:
            raise InputError(f"2^{k} subsets are too many", remedy="use `search: beam`, or select before")

    def _all(self, problem: "_Problem", k: int) -> tuple[BoolArray, FloatArray]:
        """The best 64 (or `vote`) of all subsets."""
        scores = np.empty(2**k)
        starts = range(0, len(scores), _CHUNK)

        def run(first: int) -> None:
            exhaustive_scores(*problem, METRIC_CODES[self.metric], first, scores[first : first + _CHUNK])

        with ThreadPoolExecutor(self.n_jobs) as pool:
            list(pool.map(run, starts))
        size = min(max(self.vote, 64), len(scores) - 1)
        best = np.sort(np.argpartition(-scores, size - 1)[:size])
        masks = best ^ (best >> 1)
        return np.asarray(masks[:, None] >> np.arange(k) & 1, np.bool_), scores[best]

    def _beam(self, problem: "_Problem", k: int) -> tuple[BoolArray, FloatArray]:
        """Every subset scored on the way, once."""
        seen: dict[tuple[int, ...], float] = {}
        front: list[tuple[int, ...]] = [()]
        for size in range(1, min(self.max_features, k) + 1):
            grown = {tuple(sorted((*subset, j))) for subset in front for j in range(k) if j not in subset}
            self._score(problem, grown, seen)
            front = self._best(seen, size)
            if size > 2:
                shrunk = {tuple(j for j in subset if j != out) for subset in front for out in subset}
                self._score(problem, shrunk, seen)
                regrown = self._best(seen, size - 1)
                self._score(
                    problem, {tuple(sorted((*s, j))) for s in regrown for j in range(k) if j not in s}, seen
                )
                front = self._best(seen, size)
        subsets = np.zeros((len(seen), k), np.bool_)
        for row, subset in zip(subsets, seen, strict=True):
            row[list(subset)] = True
        return subsets, np.asarray(list(seen.values()))

    def _best(self, seen: Mapping[tuple[int, ...], float], size: int) -> list[tuple[int, ...]]:
        sized = [(-score, subset) for subset, score in seen.items() if len(subset) == size]
        return [subset for _, subset in sorted(sized)[: self.width]]

    def _score(
        self, problem: "_Problem", wanted: set[tuple[int, ...]], seen: dict[tuple[int, ...], float]
    ) -> None:
        new = sorted(wanted - seen.keys())
        if new:
            scores = np.empty(len(new))
            listed_scores(*problem, METRIC_CODES[self.metric], np.asarray(new, np.int64), scores)
            seen.update(zip(new, scores.tolist(), strict=True))


# moments, held, starts, means, gold, weights: as `exhaustive_scores` takes them
_Problem = tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray, FloatArray, FloatArray]


def _problem(
    X: FloatArray, y: FloatArray, parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]], alpha: float
) -> _Problem:
    k = X.shape[1]
    moments, held, means = [], [], []
    for train, out in parts:
        centre, mean = X[train].mean(axis=0), y[train].mean()
        both = np.column_stack([X[train] - centre, y[train] - mean])
        moments.append(both.T @ both + alpha * np.diag(np.arange(k + 1) < k))
        held.append(X[out] - centre)
        means.append(np.full(len(out), mean))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in held])]).astype(np.int64)
    gold = y[np.concatenate([out for _, out in parts])]
    weights = position_weights(len(gold)) if len(gold) >= 4 else np.zeros(len(gold))
    return np.asarray(moments), np.concatenate(held), starts, np.concatenate(means), gold, weights
