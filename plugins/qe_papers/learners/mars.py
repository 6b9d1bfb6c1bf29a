"""Multivariate adaptive regression splines."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, log2
from typing import Annotated, Any, ClassVar, Self

import numba
import numpy as np
from annotated_types import Ge
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from features.basics.array_types import FloatArray
from features.basics.hints import Count, NotNegative
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.display.numbers import general
from qe.learning.elimination import drop_attribute
from qe.learning.learner import Learner
from qe.learning.learners.checks import rows_to_predict, training_data

_SPAN_RISK = 0.05  # Friedman 1991, equations 43 and 45: alpha
_COLLINEAR = 0.01  # minimum share of a candidate's squared norm outside the span of the terms


@dataclass(frozen=True)
class Hinge:
    """max(0, sign (x_feature - knot)); sign 0 means the plain feature."""

    feature: int
    knot: float
    sign: int

    def __call__(self, X: FloatArray) -> FloatArray:
        x = X[:, self.feature]
        return x.copy() if self.sign == 0 else np.maximum(0.0, self.sign * (x - self.knot))


Term = tuple[Hinge, ...]  # product of hinges; () is the constant


@dataclass(repr=False, eq=False)
class MarsRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Sum of products of hinges max(0, x - t) and max(0, t - x).

    Pairs of hinges are added forward and pruned backward by GCV.

    max_degree   maximum number of hinges in a product; 1: additive
    max_terms    terms after the forward pass; None: min(200, max(20, 2 k)) + 1
    penalty      cost of a knot in GCV; None: 2 if max_degree is 1, otherwise 3
    threshold    the forward pass ends if a pair raises R^2 by less
    minspan      segments between knots; None: Friedman 1991, equation 43
    endspan      segments beyond the outermost knots; None: equation 45

    GCV = RSS / n / (1 - (m + penalty (m - 1) / 2) / n)^2 for m terms. After fit: `features_`, `knots_` and
    `signs_` (terms, max_degree), feature -1 if a product has fewer hinges, sign 0 for a plain feature;
    `coefficients_` (terms,); `gcv_`, `rss_`. Outside the training data the hinges extrapolate linearly.

    Source: Friedman 1991; defaults, centred knots and collinearity tolerance as in the R package earth.
    """

    max_degree: Count = 1
    max_terms: Count | None = None
    penalty: NotNegative | None = None
    threshold: NotNegative = 0.001
    minspan: Annotated[int, Ge(0)] | None = None
    endspan: Annotated[int, Ge(0)] | None = None

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        terms, B = self._forward(X, y)
        self.forward_terms_ = len(terms)
        keep, self.gcv_ = self._backward(B, y)
        shape = (len(keep), self.max_degree)
        self.features_, self.signs_ = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
        self.knots_ = np.zeros(shape)
        for i, term in enumerate(keep):
            for d, hinge in enumerate(terms[term]):
                self.features_[i, d], self.knots_[i, d] = hinge.feature, hinge.knot
                self.signs_[i, d] = hinge.sign
        self.coefficients_ = np.linalg.lstsq(B[:, keep], y, rcond=None)[0]
        self.rss_ = float(((y - B[:, keep] @ self.coefficients_) ** 2).sum())
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        columns = [_values(term, X) for term in self._terms()]
        return np.asarray(np.column_stack(columns) @ self.coefficients_)

    def describe(self, feature_names: list[str] | None = None, label: str = "score") -> str:
        """The equation, one term per line; h(a) is max(0, a)."""
        check_is_fitted(self)
        names = feature_names or list(
            getattr(self, "feature_names_in_", (f"x{j}" for j in range(self.n_features_in_)))
        )
        lines = [f"{label} ="]
        for value, term in zip(self.coefficients_, self._terms(), strict=True):
            factors = ""
            for hinge in term:
                name, knot = names[hinge.feature], general(hinge.knot, 6)
                inner = f"{name} - {knot}" if hinge.sign > 0 else f"{knot} - {name}"
                factors += f" * h({inner})" if hinge.sign else f" * {name}"
            lines.append(f"  {'-' if value < 0 else '+'} {general(abs(value), 6)}{factors}")
        return "\n".join(lines) + "\n"

    def _forward(self, X: FloatArray, y: FloatArray) -> tuple[list[Term], FloatArray]:
        most = self.max_terms or min(200, max(20, 2 * X.shape[1])) + 1
        basis, data, opened = _Basis(y), _Columns(X), 0
        families: list[_Candidates] = []
        while len(basis.terms) < most - 1 and basis.rss > 1e-12 * basis.total > 0:
            for term, column in list(zip(basis.terms, basis.columns, strict=True))[opened:]:
                if len(term) < min(self.max_degree, len(data.centred)):
                    spans = self._spans(int((column != 0).sum()), len(data.centred))
                    families.append(_Candidates(term, column, data, y, spans))
            for family in families:
                family.follow(basis.orthonormal)
            opened = len(basis.terms)
            gain, pair, before = 0.0, list[Term](), basis.rss
            for found, candidates in (family.best() for family in families):
                if found > gain * (1 + 1e-10):
                    gain, pair = found, candidates
            for term in pair:
                basis.add(term, X)
            if len(basis.terms) == opened or before - basis.rss < self.threshold * basis.total:
                del basis.terms[opened:], basis.columns[opened:], basis.orthonormal[opened:]
                break
        return basis.terms, np.column_stack(basis.columns)

    def _spans(self, n: int, k: int) -> tuple[int, int]:
        minspan, endspan = self.minspan, self.endspan
        if minspan is None:
            minspan = int(-log2(-log(1 - _SPAN_RISK) / (k * max(n, 1))) / 2.5)
        if endspan is None:
            endspan = int(3 - log2(_SPAN_RISK / k))
        return max(minspan, 1), max(endspan, 1)

    def _backward(self, B: FloatArray, y: FloatArray) -> tuple[list[int], float]:
        Q, R = np.linalg.qr(B)
        root = np.linalg.inv(R)
        inverse, beta = root @ root.T, root @ (Q.T @ y)
        rss = float(((y - B @ beta) ** 2).sum())
        left = np.ones(len(beta), np.bool_)
        best_keep, best = list(range(len(beta))), self._gcv(rss, len(beta), len(y))
        while left.sum() > 1:
            cost = np.where(left, beta**2 / np.diag(inverse), np.inf)
            out = 1 + int(cost[1:].argmin())
            rss += float(cost[out])
            drop_attribute(inverse, beta, left, out)
            gcv = self._gcv(rss, int(left.sum()), len(y))
            if gcv <= best:
                best_keep, best = np.flatnonzero(left).tolist(), gcv
        return best_keep, best

    def _gcv(self, rss: float, terms: int, n: int) -> float:
        penalty = (2.0 if self.max_degree == 1 else 3.0) if self.penalty is None else self.penalty
        effective = terms + penalty * (terms - 1) / 2
        return rss / n / (1 - effective / n) ** 2 if effective < n else np.inf

    def _terms(self) -> list[Term]:
        rows = zip(self.features_.tolist(), self.knots_.tolist(), self.signs_.tolist(), strict=True)
        return [tuple(Hinge(*h) for h in zip(*row, strict=True) if h[0] >= 0) for row in rows]


class _Basis:
    def __init__(self, y: FloatArray) -> None:
        n = len(y)
        self.y, self.total = y, float(((y - y.mean()) ** 2).sum())
        self.terms: list[Term] = [()]
        self.columns = [np.ones(n)]
        self.orthonormal = [np.full(n, n**-0.5)]

    @property
    def rss(self) -> float:
        left = self.y - self.y.mean()
        for vector in self.orthonormal[1:]:
            left = left - vector * (vector @ left)
        return float(left @ left)

    def add(self, term: Term, X: FloatArray) -> None:
        column = _values(term, X)
        Q = np.column_stack(self.orthonormal)
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)
        power = float(rest @ rest)
        if power > _COLLINEAR * float(((column - column.mean()) ** 2).sum()) and power > 0:
            self.terms.append(term)
            self.columns.append(column)
            self.orthonormal.append(rest / power**0.5)


class _Columns:
    def __init__(self, X: FloatArray) -> None:
        self.values = X
        self.centred = np.ascontiguousarray((X - X.mean(axis=0)).T)
        self.order = np.argsort(-self.centred, axis=1, kind="stable").astype(np.int32)


class _Candidates:
    def __init__(
        self, parent: Term, column: FloatArray, data: "_Columns", y: FloatArray, spans: tuple[int, int]
    ) -> None:
        self.parent, self.column, self.data, self.y, self.seen = parent, column, data, y, 0
        taken = [hinge.feature for hinge in parent]
        self.free = np.setdiff1d(np.arange(len(data.centred)), taken)
        inside = column != 0
        self.rows = np.stack([data.order[j][inside[data.order[j]]] for j in self.free])
        minspan, endspan = spans
        between = int(inside.sum()) - 2 * endspan
        count = 1 + (between - 1) // minspan if between > 0 else 0
        self.point = endspan + (between - 1 - (count - 1) * minspan) // 2 + minspan * np.arange(count)
        self.knots = np.take_along_axis(data.centred[self.free], self.rows[:, self.point], axis=1)
        linear = column * data.centred[self.free]
        self.linear_power, self.linear_y = (linear**2).sum(axis=1), linear @ y
        self.hinge_linear = self._products(column, times_x=True)
        # |h|^2 = <h, parent x> - t <h, parent>, because h is 0 if x < t.
        self.hinge_power = self.hinge_linear - self.knots * self._products(column)
        self.hinge_y = self._products(y)

    def _products(self, vector: FloatArray, times_x: bool = False) -> FloatArray:
        products = np.empty(self.knots.shape)
        weights = self.column * vector
        _hinge_products(
            self.data.centred, weights, times_x, self.free, self.rows, self.point, self.knots, products
        )
        return products

    def follow(self, orthonormal: list[FloatArray]) -> None:
        for vector in orthonormal[self.seen :]:
            linear = (self.data.centred @ (self.column * vector))[self.free]
            hinges, along = self._products(vector), float(vector @ self.y)
            self.linear_power -= linear**2
            self.linear_y -= linear * along
            self.hinge_power -= hinges**2
            self.hinge_linear -= hinges * linear[:, None]
            self.hinge_y -= hinges * along
            if self.seen == 0:
                self.tolerance = _COLLINEAR * self.linear_power, _COLLINEAR * self.hinge_power
            self.seen += 1

    def best(self) -> tuple[float, list[Term]]:
        outside = self.linear_power > self.tolerance[0]
        inverse = np.where(outside, 1.0, 0.0) / np.where(outside, self.linear_power, 1.0)
        alone = self.linear_y**2 * inverse
        slope = (self.linear_y * inverse)[:, None]
        power = self.hinge_power - self.hinge_linear**2 * inverse[:, None]
        fits = power > self.tolerance[1]
        share = (self.hinge_y - self.hinge_linear * slope) ** 2 / np.where(fits, power, 1.0)
        gains = np.column_stack([alone, np.where(fits, alone[:, None] + share, 0.0)])
        f, c = np.unravel_index(int(gains.argmax()), gains.shape)
        return float(gains[f, c]), self._terms(int(f), int(c))

    def _terms(self, f: int, c: int) -> list[Term]:
        feature = int(self.free[f])
        if c == 0:
            return [(*self.parent, Hinge(feature, 0.0, 0))]
        knot = float(self.data.values[int(self.rows[f, self.point[c - 1]]), feature])
        return [(*self.parent, Hinge(feature, knot, sign)) for sign in (1, -1)]


def _values(term: Term, X: FloatArray) -> FloatArray:
    product = np.ones(len(X))
    for hinge in term:
        product *= hinge(X)
    return product


@numba.njit(cache=True, nogil=True)
def _hinge_products(
    x: Any, weights: Any, times_x: bool, free: Any, rows: Any, point: Any, knots: Any, products: Any
) -> None:
    for f in range(len(free)):
        column = x[free[f]]
        plain = moment = 0.0
        done = 0
        for c in range(len(point)):
            t = knots[f, c]
            while done < rows.shape[1] and column[rows[f, done]] > t:
                value = column[rows[f, done]]
                weight = weights[rows[f, done]] * (value if times_x else 1.0)
                plain += weight
                moment += weight * value
                done += 1
            products[f, c] = moment - t * plain


class Mars(Learner):
    """Piecewise-linear regression with learned knots; `.describe(names)` prints the equation.

    Parameters: those of MarsRegressor. Features are not scaled, so that knots are in the features' units.
    Deterministic. Source: Friedman 1991; WMT12 DFKI (grcfs-mars).
    """

    regressor = MarsRegressor
    space: ClassVar[Mapping[str, Distribution]] = {
        "max_degree": IntRange(1, 2),
        "max_terms": IntRange(5, 60, log=True),
        "penalty": FloatRange(1.0, 6.0),
    }
    scale: ClassVar[bool] = False
