"""Linear models of differences between systems: classification, ranking, gain, log-linear."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numba
import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.svm import LinearSVC

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.summary import Printable
from qe.statistics.result import Aggregate
from qe.systems.documents import document_statistics
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.selection.chooser import CHOOSERS, Outputs, StandardisedChooser, pairs


@CHOOSERS.register("classification")
@dataclass(frozen=True, eq=False)
class Classification(StandardisedChooser, Printable):
    """Probability that the second of two systems is better, from feature differences.

    There is one logistic regression per pair of systems, with an intercept that learns which system is
    generally better. A system's preference is its mean probability against the others.

    Source: Soricut and Narsale 2012, section 4.3 (which names no classifier).

    Attributes
    ----------
    cost : float
        Inverse strength of the ridge penalty.
    """

    cost: float = 0.01
    machines: tuple[tuple[int, int, Any], ...] = ()

    def _learned(self, outputs: Outputs) -> Self:
        values = self.values(outputs)
        machines: list[tuple[int, int, Any]] = []
        for first, second, rows, better in pairs(outputs):
            if better.all() or not better.any():  # one class: always predicted (a draw if nothing differs)
                machine: Any = _Constant(float(better.mean()) if len(better) else 0.5)
            else:
                machine = LogisticRegression(C=self.cost, max_iter=1000)
                machine.fit(values[second, rows] - values[first, rows], better)
            machines.append((first, second, machine))
        return replace(self, machines=tuple(machines))

    def preferences(self, outputs: Outputs) -> FloatArray:
        values = self.values(outputs)
        votes = np.zeros(values.shape[:2])
        for first, second, machine in self.machines:
            second_wins = machine.predict_proba(values[second] - values[first])[:, 1]
            votes[first] += 1.0 - second_wins
            votes[second] += second_wins
        return votes / max(1, len(values) - 1)


@dataclass(frozen=True)
class _Constant:
    probability: float

    def predict_proba(self, differences: FloatArray) -> FloatArray:
        return np.tile([1.0 - self.probability, self.probability], (len(differences), 1))


@CHOOSERS.register("ranking")
@dataclass(frozen=True, eq=False)
class Ranking(StandardisedChooser, Printable):
    """SVM-rank with a linear kernel: the better of two translations of a segment scores higher.

    A support vector machine without intercept on feature differences, with one weight per feature; the
    identity of the system is not used.

    Raises InputError if no segment has outputs of different BLEU.
    Source: Soricut and Narsale 2012, section 4.2; Joachims 1999.

    Attributes
    ----------
    cost : float
        Penalty of a pair in the wrong order.
    """

    cost: float = 0.01
    seed: int = 0
    weights: FloatArray | None = None

    def _learned(self, outputs: Outputs) -> Self:
        values = self.values(outputs)
        differences, better = [], []
        for first, second, rows, second_is_better in pairs(outputs):
            differences.append(values[second, rows] - values[first, rows])
            better.append(second_is_better)
        rows_, signs = np.concatenate(differences), np.where(np.concatenate(better), 1.0, -1.0)
        if not len(signs):
            raise InputError("no segment has outputs of different BLEU: there is nothing to learn")
        # Each pair appears in both directions, so that both classes always occur; the model is the same.
        machine = LinearSVC(
            C=self.cost, loss="hinge", fit_intercept=False, random_state=self.seed, max_iter=20_000
        )
        machine.fit(np.concatenate([rows_, -rows_]), np.concatenate([signs, -signs]))
        return replace(self, weights=np.asarray(machine.coef_[0], np.float64))

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.weights is None:
            raise ValueError("fit first")
        return np.asarray(self.values(outputs) @ self.weights)


_ROUNDS = 10
_NARROW = 1e-9  # narrower intervals of equal choices are skipped


def mert(
    values: FloatArray, statistics: FloatArray, aggregate: Aggregate, *, start: FloatArray, restarts: int,
    seed: int,
) -> FloatArray:  # fmt: skip
    """Weights (k,) of (S, n, k) features that maximise the metric of the chosen translations.

    statistics  (S, n, c) of the metric; the score of a choice is the aggregate of its sums

    Source: Och 2003, "Minimum error rate training in statistical machine translation", section 4.
    """
    rng = np.random.default_rng(seed)
    starts = [start, *rng.normal(size=(restarts, values.shape[2]))]
    found = [_climbed(values, statistics, aggregate, weights, rng) for weights in starts]
    return max(found, key=lambda pair: pair[0])[1]


def _climbed(
    values: FloatArray, statistics: FloatArray, aggregate: Aggregate, weights: FloatArray, rng: Any
) -> tuple[float, FloatArray]:
    score = -np.inf
    for _ in range(_ROUNDS):
        before = score
        k = values.shape[2]
        for direction in (*np.eye(k), *rng.normal(size=(k, k))):
            best, step = line_search(values @ weights, values @ direction, statistics, aggregate)
            if best > score:
                score, weights = best, weights + step * direction
        if not score > before:
            break
    return score, weights / max(float(np.linalg.norm(weights)), _NARROW)


def line_search(
    base: FloatArray, slope: FloatArray, statistics: FloatArray, aggregate: Aggregate
) -> tuple[float, float]:
    """Best (score, t), if the system with the highest base + t slope, (S, n), is chosen in every segment."""
    places, segments, left, taken, first = _changes(base, slope)
    order = np.argsort(places, kind="stable")
    places, segments, left, taken = (column[order] for column in (places, segments, left, taken))
    begun = statistics[first, np.arange(len(first))].sum(axis=0)
    changes = statistics[taken, segments] - statistics[left, segments]
    scores = aggregate(np.vstack([begun, begun + np.cumsum(changes, axis=0)]))
    if not len(places):
        return float(scores[0]), 0.0
    ends = np.concatenate([[places[0] - 2.0], places, [places[-1] + 2.0]])
    wide = np.diff(ends) > _NARROW
    best = int(np.argmax(np.where(wide, scores, -np.inf)))
    return float(scores[best]), float((ends[best] + ends[best + 1]) / 2)


@numba.njit(cache=True, nogil=True)
def _changes(base: Any, slope: Any) -> Any:
    systems, segments = base.shape
    most = segments * (systems - 1)
    places, location = np.empty(most), np.empty(most, np.int64)
    left, taken = np.empty(most, np.int64), np.empty(most, np.int64)
    first = np.empty(segments, np.int64)
    count = 0
    for i in range(segments):
        own = 0
        for s in range(1, systems):
            if slope[s, i] < slope[own, i] or (slope[s, i] == slope[own, i] and base[s, i] > base[own, i]):
                own = s
        first[i] = own
        while True:
            following, place = -1, np.inf
            for s in range(systems):
                if slope[s, i] > slope[own, i]:
                    t = (base[own, i] - base[s, i]) / (slope[s, i] - slope[own, i])
                    if t < place or (t == place and slope[s, i] > slope[following, i]):
                        following, place = s, t
            if following < 0:
                break
            places[count], location[count], left[count], taken[count] = place, i, own, following
            count, own = count + 1, following
    return places[:count], location[:count], left[:count], taken[:count], first


@CHOOSERS.register("log_linear")
@dataclass(frozen=True, eq=False)
class LogLinear(StandardisedChooser, Printable):
    """Log-linear model of the features and the system's prior, tuned by MERT on the BLEU of the chosen text.

    The prior is a system's BLEU against the other systems' outputs.

    Source: Vilar et al. 2012, section 3; the feature set `vilar` has its features.

    Attributes
    ----------
    restarts : int
        Random initial weights, in addition to those of the prior.
    """

    restarts: int = 4
    seed: int = 0
    prior: tuple[float, float] = (0.0, 1.0)
    weights: FloatArray | None = None

    def _learned(self, outputs: Outputs) -> Self:
        spread = float(np.std(outputs.agreement)) if len(outputs.agreement) else 0.0
        prior = (float(np.mean(outputs.agreement)), spread) if spread > 0 else (0.0, 1.0)
        values, aggregate = replace(self, prior=prior)._with_priors(outputs), Bleu().aggregate
        start = np.append(np.zeros(values.shape[2] - 1), 1.0)
        found = mert(
            values, outputs.statistics, aggregate, start=start, restarts=self.restarts, seed=self.seed
        )
        return replace(self, prior=prior, weights=found)

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.weights is None:
            raise ValueError("fit first")
        return np.asarray(self._with_priors(outputs) @ self.weights)

    def _with_priors(self, outputs: Outputs) -> FloatArray:
        values = self.values(outputs)
        mean, spread = self.prior
        given = outputs.agreement if len(outputs.agreement) else np.full(len(values), mean)
        priors = np.broadcast_to(((given - mean) / spread)[:, None, None], (*values.shape[:2], 1))
        return np.concatenate([values, priors], axis=2)


_PENALTIES = tuple(10.0 ** (k / 2) for k in range(2, 13))  # 10 .. 10^6, in units of segments


@CHOOSERS.register("gain")
@dataclass(frozen=True, eq=False)
class Gain(StandardisedChooser, Printable):
    """Predicts a translation's gain in the text's BLEU over the first system.

    Ridge regression with an intercept on feature differences; the penalty is chosen by leave-one-out errors
    on the training rows. Long segments weigh more and close calls less, because errors there cost little. A
    document's preference is the sum over its segments.

    Source: this project, after Soricut and Narsale 2012, section 4.3.
    """

    machines: tuple[Any, ...] = ()

    def _learned(self, outputs: Outputs) -> Self:
        first, *others = self.values(outputs)
        parts = contributions(outputs.statistics)
        machines = tuple(
            RidgeCV(alphas=_PENALTIES).fit(other - first, part - parts[0])
            for other, part in zip(others, parts[1:], strict=True)
        )
        return replace(self, machines=machines)

    def preferences(self, outputs: Outputs) -> FloatArray:
        first, *others = self.values(outputs)
        gains = [m.predict(other - first) for m, other in zip(self.machines, others, strict=True)]
        return np.stack([np.zeros(len(first)), *gains])

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        return document_statistics(self.preferences(outputs).T, documents).T


def contributions(statistics: FloatArray) -> FloatArray:
    """Contribution (S, n) of each system's segments to the BLEU of a text, to first order."""
    bleu, sums = Bleu(), statistics.sum(axis=1)
    total = sums[int(np.argmax(bleu.aggregate(sums)))]
    steps = np.diag(1e-4 * np.maximum(total, 1.0))
    gradient = (bleu.aggregate(total + steps) - bleu.aggregate(total - steps)) / (2 * steps.diagonal())
    return np.asarray(statistics @ gradient * statistics.shape[1])
