"""Attribution: the contribution of each feature to a prediction, exact if the learner allows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.storage.damage import typed

_TILE = 32  # centres per block, so that their factors fit the processor's cache
_FIRST_NODES = 3
_CLOSE = 1e-9  # tolerance of the sum of a row's contributions, relative to the scores
# Replaces a factor that underflows: products with it are 0, and division by it is possible.
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Expansion:
    """f(x) = constant + sum_s weights[s] exp(-sum_j rates[j] (x[j] - centres[s, j])^2)."""

    centres: FloatArray
    weights: FloatArray
    rates: FloatArray
    constant: float

    def __post_init__(self) -> None:
        typed("centres", self.centres, np.float64, len(self.weights), len(self.rates))
        typed("weights", self.weights, np.float64, len(self.weights))
        typed("rates", self.rates, np.float64, len(self.rates))

    def predict(self, rows: FloatArray) -> FloatArray:
        centres = np.ascontiguousarray(self.centres.T)
        return self.constant + np.asarray(
            _scores(np.ascontiguousarray(rows), centres, self.weights, self.rates), np.float64
        )


def expansion_of(learner: Any) -> Expansion | None:
    if hasattr(learner, "svr_") and hasattr(learner, "weights_"):  # importance-weighted SVR
        inner = expansion_of(learner.svr_)
        if inner is None:
            return None
        scales = learner.weights_
        # A feature of weight 0 has no effect, so its centre is arbitrary.
        centres = np.divide(inner.centres, scales, out=np.zeros_like(inner.centres), where=scales != 0)
        return Expansion(centres, inner.weights, inner.rates * scales**2, inner.constant)
    if hasattr(learner, "length_scales_") and hasattr(learner, "signal_"):  # Gaussian process
        weights = learner.signal_ * learner.coefficients_
        return Expansion(learner.rows_, weights, 0.5 / learner.length_scales_**2, learner.centre_)
    if getattr(learner, "kernel", None) != "rbf":
        return None
    if hasattr(learner, "support_vectors_") and hasattr(learner, "_gamma"):  # SVR
        centres = np.asarray(learner.support_vectors_, np.float64)
        rates = np.full(centres.shape[1], float(learner._gamma))
        return Expansion(centres, learner.dual_coef_[0], rates, float(learner.intercept_[0]))
    if hasattr(learner, "X_fit_") and hasattr(learner, "centre_"):  # kernel ridge
        k = learner.X_fit_.shape[1]
        rates = np.full(k, 1.0 / k if learner.gamma is None else float(learner.gamma))
        return Expansion(learner.X_fit_, np.ravel(learner.dual_coef_), rates, learner.centre_)
    return None


def shapley_values(
    expansion: Expansion, rows: FloatArray, background: FloatArray, nodes: int = _FIRST_NODES
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Shapley values (n, k) of the rows, and the number of quadrature nodes (n,) used.

    An absent feature has a background row's value. For one centre and one background row the value of a
    coalition is a product of factors, a_j for present features and b_j for absent ones, and feature j's
    Shapley value is the integral over t in 0 .. 1 of (a_j - b_j) prod_{i != j} (t a_i + (1 - t) b_i): the
    multilinear extension along its diagonal (Owen 1972), a polynomial of degree k - 1.

    Gauss-Legendre quadrature with k / 2 nodes is exact; wide kernels need few nodes. A row starts with
    `nodes` nodes and adds more until its values add up to its score minus the background's mean.
    """
    least = max(1, -(-rows.shape[1] // 2))
    nodes = min(nodes, least)
    values = _integrals(expansion, rows, background, nodes)
    used = np.full(len(rows), nodes)
    scores = expansion.predict(background)
    base, spread = scores.mean(), scores.std()
    totals = expansion.predict(rows) - base
    while nodes < least:
        rest = np.abs(values.sum(axis=1) - totals)
        open_ = np.flatnonzero(~(rest <= _CLOSE * (np.abs(totals) + spread)))
        if not len(open_):
            break
        nodes = min(nodes + max(1, nodes // 2), least)
        values[open_] = _integrals(expansion, rows[open_], background, nodes)
        used[open_] = nodes
    return values, used


def _integrals(expansion: Expansion, rows: FloatArray, background: FloatArray, nodes: int) -> FloatArray:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    centres = np.ascontiguousarray(expansion.centres.T)
    return np.asarray(
        _sums(
            np.ascontiguousarray(rows), np.ascontiguousarray(background), centres, expansion.weights,
            expansion.rates, (points + 1) / 2, weights / 2 / len(background),
        )
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _scores(rows: FloatArray, centres: FloatArray, weights: FloatArray, rates: FloatArray) -> FloatArray:
    scores = np.zeros(len(rows))
    exponents = np.empty(len(weights))
    for i in range(len(rows)):
        exponents[:] = 0.0
        for j in range(len(rates)):
            for c in range(len(weights)):
                distance = rows[i, j] - centres[j, c]
                exponents[c] -= rates[j] * distance * distance
        for c in range(len(weights)):
            scores[i] += weights[c] * np.exp(exponents[c])
    return scores


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _factors(
    row: FloatArray, centres: FloatArray, rates: FloatArray, first: int, size: int, factors: FloatArray
) -> None:
    for j in range(len(row)):
        for c in range(size):
            distance = row[j] - centres[j, first + c]
            factors[j, c] = max(np.exp(-rates[j] * distance * distance), _LEAST)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_pair(
    a: FloatArray, b: FloatArray, weights: FloatArray, points: FloatArray, parts: FloatArray,
    sums: FloatArray, products: FloatArray,
) -> None:  # fmt: skip
    k, tile = a.shape
    for q in range(len(points)):
        t = points[q]
        product = products[q]
        for c in range(tile):
            product[c] = parts[q] * weights[c]
        for j in range(k):
            for c in range(tile):
                product[c] *= b[j, c] + t * (a[j, c] - b[j, c])
        for j in range(k):
            for c in range(tile):
                step = a[j, c] - b[j, c]
                sums[j, c] += step * product[c] / (b[j, c] + t * step)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sums(
    rows: FloatArray, background: FloatArray, centres: FloatArray, weights: FloatArray, rates: FloatArray,
    points: FloatArray, parts: FloatArray,
) -> FloatArray:  # fmt: skip
    (n, k), s = rows.shape, len(weights)
    sums = np.zeros((n, k))
    absent = np.ones((len(background), k, _TILE))
    present, out = np.ones((k, _TILE)), np.empty((k, _TILE))
    products, here = np.empty((len(points), _TILE)), np.zeros(_TILE)
    for first in range(0, s, _TILE):
        size = min(_TILE, s - first)
        for c in range(_TILE):
            here[c] = weights[first + c] if c < size else 0.0  # padding after the last centre
        for r in range(len(background)):
            _factors(background[r], centres, rates, first, size, absent[r])
        for i in range(n):
            _factors(rows[i], centres, rates, first, size, present)
            out[:] = 0.0
            for r in range(len(background)):
                _add_pair(present, absent[r], here, points, parts, out, products)
            for j in range(k):
                sums[i, j] += out[j].sum()
    return sums


Predict = Callable[[FloatArray], FloatArray]

_EVALUATIONS = 1200  # approximate number of predictions per explained row, if contributions are sampled
_SMALL = 1e-8  # relative tolerance for contributions that add up to the prediction


class Attribution(Protocol):
    """Decomposes predictions: prediction = base + sum of a row of `values`."""

    @property
    def method(self) -> str:
        """`linear`, `trees` or `kernel` (exact), or `sampling`."""

    @property
    def base(self) -> float:
        """Mean prediction of the background, or of the training data for trees."""

    def values(self, rows: FloatArray) -> FloatArray:
        """Contributions (n, k) to the predictions of (n, k) rows."""


@dataclass(frozen=True, eq=False)
class Linear:
    slopes: FloatArray
    background: FloatArray
    base: float
    method: str = "linear"

    def values(self, rows: FloatArray) -> FloatArray:
        return np.asarray((rows - self.background.mean(axis=0)) * self.slopes)


@dataclass(frozen=True, eq=False)
class Trees:
    """Contributions from LightGBM's pred_contrib (Lundberg et al. 2020, TreeSHAP)."""

    booster: Any
    base: float
    method: str = "trees"

    def values(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.booster.predict(rows, pred_contrib=True)[:, :-1], np.float64)


@dataclass(frozen=True, eq=False)
class Kernel:
    """Exact Shapley values of a product kernel, in closed form."""

    expansion: Expansion
    background: FloatArray
    base: float
    method: str = "kernel"

    @cached_property
    def _nodes(self) -> int:
        return int(shapley_values(self.expansion, self.background[:1], self.background)[1][0])

    def values(self, rows: FloatArray) -> FloatArray:
        return shapley_values(self.expansion, rows, self.background, self._nodes)[0]


@dataclass(frozen=True, eq=False)
class Sampling:
    """Shapley values estimated from random feature orders; their sum is exact.

    Each of `orders` random orders and its reverse starts from a background row and replaces its features one
    by one with the explained row's (Strumbelj and Kononenko 2014; antithetic orders: Mitchell et al. 2022).
    """

    predict: Predict
    background: FloatArray
    orders: int | None = None
    seed: int = 0
    method: str = "sampling"

    @cached_property
    def _walks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        k = self.background.shape[1]
        pairs = self.orders or max(2, _EVALUATIONS // (2 * (k + 1)))
        generator = np.random.default_rng(self.seed)
        forward = [generator.permutation(k) for _ in range(pairs)]
        orders = [order for one_way in forward for order in (one_way, one_way[::-1])]
        starts = np.repeat(np.resize(generator.permutation(len(self.background)), pairs), 2)
        return np.array(orders), starts

    @cached_property
    def base(self) -> float:
        return float(self.predict(self.background)[self._walks[1]].mean())

    def values(self, rows: FloatArray) -> FloatArray:
        orders, starts = self._walks
        position = np.argsort(orders, axis=1)  # the step at which each feature is replaced
        walks, k = position.shape
        switched = position[:, None, :] < np.arange(k + 1)[None, :, None]
        absent = self.background[starts][:, None, :]
        values = np.empty(rows.shape)
        for i, row in enumerate(rows):
            points = np.where(switched, row, absent)
            scores = self.predict(points.reshape(-1, k)).reshape(walks, k + 1)
            steps = np.diff(scores, axis=1)
            values[i] = np.take_along_axis(steps, position, axis=1).mean(axis=0)
        return values


@dataclass(frozen=True, eq=False)
class Sum:
    parts: Sequence[tuple[float, Attribution]]
    constant: float

    @property
    def method(self) -> str:
        return "+".join(dict.fromkeys(part.method for _, part in self.parts))

    @property
    def base(self) -> float:
        return self.constant + sum(weight * part.base for weight, part in self.parts)

    def values(self, rows: FloatArray) -> FloatArray:
        total = np.zeros_like(rows)
        for weight, part in self.parts:
            total += weight * part.values(rows)
        return total


def attribution(
    learner: Any, predict: Predict, background: FloatArray, orders: int | None = None, seed: int = 0
) -> Attribution:
    """Chooses an attribution for `predict`, exact if its values then add up to the predictions."""
    combined = _members(learner, predict, background)
    if combined is None:
        exact = _exact(learner, predict, background)
        return Sampling(predict, background, orders, seed) if exact is None else exact
    members, constant = combined
    parts = [(w, m, _exact(m, m.predict, background)) for w, m in members if w]
    rest = [(w, m) for w, m, part in parts if part is None]
    weighted: list[tuple[float, Attribution]] = [(w, part) for w, _, part in parts if part is not None]
    if rest:

        def predict_rest(rows: FloatArray) -> FloatArray:
            return np.asarray(sum(w * m.predict(rows) for w, m in rest))

        weighted.append((1.0, Sampling(predict_rest, background, orders, seed)))
    return Sum(weighted, constant)


def _members(
    learner: Any, predict: Predict, background: FloatArray
) -> tuple[list[tuple[float, Any]], float] | None:
    members, weights = getattr(learner, "members_", None), getattr(learner, "weights_", None)
    if members is None or weights is None or len(members) != len(weights):
        return None
    weighted: list[tuple[float, Any]] = []
    constant = float(getattr(learner, "intercept_", 0.0))
    for weight, member in zip(weights, members, strict=True):
        inner = _members(member, member.predict, background)
        if inner is None:
            weighted.append((float(weight), member))
        else:
            weighted += [(float(weight) * w, m) for w, m in inner[0]]
            constant += float(weight) * inner[1]
    probe = _probe(background)
    total = constant + sum(w * m.predict(probe) for w, m in weighted)
    return (weighted, constant) if _equal(total, predict(probe)) else None


def _exact(learner: Any, predict: Predict, background: FloatArray) -> Attribution | None:
    probe = _probe(background)
    predicted = predict(probe)
    base = float(predicted[: len(background)].mean())
    slopes = np.ravel(getattr(learner, "coef_", np.empty(0)))
    if len(slopes) == background.shape[1] and np.ptp(rest := predicted - probe @ slopes) <= _SMALL * max(
        1.0, float(np.abs(rest).max())
    ):
        return Linear(slopes, background, base)
    expansion = expansion_of(learner)
    if expansion is not None and _equal(expansion.predict(probe), predicted):
        return Kernel(expansion, background, base)
    booster = getattr(learner, "booster_", None)
    if booster is None:
        return None
    try:
        parts = np.asarray(booster.predict(probe, pred_contrib=True), np.float64)
    except Exception as error:  # LightGBM's error type, not imported here to save start-up time
        if type(error).__name__ != "LightGBMError":
            raise
        return None
    return Trees(booster, float(parts[0, -1])) if _equal(parts.sum(axis=1), predicted) else None


def _probe(background: FloatArray) -> FloatArray:
    return np.vstack([background, 3 * background[:1], -2 * background[-1:]])


def _equal(actual: FloatArray, expected: FloatArray) -> bool:
    return bool(np.abs(actual - expected).max() <= _SMALL * max(1.0, float(np.abs(expected).max())))
