"""The label as ridge regression predicts it from the words, or the letters, of a text alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr

from features.basics.array_types import FloatArray, offsets_of, row_index, rows_of
from features.basics.distinct import find
from features.basics.hints import Count, Positive
from features.core.extractor import Feature, FittedExtractor
from features.core.segments import Segments
from features.storage.damage import finite, number, typed
from features.text.tokens import Tokens

Keys = NDArray[np.uint64]
Longs = NDArray[np.int64]

_MULTIPLIER: Final = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT: Final = np.uint64(29)
_START: Final = np.uint64(0xCBF29CE484222325)
_EDGE: Final = np.uint64(0x9E3779B97F4A7C15)  # stands for the word beyond the text
_LARGEST: Final = 1e100  # of a stored value: sums of products stay finite
_ITERATIONS: Final = 40  # of conjugate gradients: the penalty is large, so they settle early


@dataclass(frozen=True, eq=False)
class Bag:
    """N-grams of n texts: distinct hashes `keys`, `ids` (n_items,) into them, and `offsets` (n + 1,)."""

    keys: Keys
    ids: Longs
    offsets: Longs

    def counts(self, columns: Longs, width: int) -> Any:
        place = columns[self.ids]
        text = row_index(self.offsets)[place >= 0]
        place = place[place >= 0]
        # Duplicates are summed by the conversion.
        return sparse.coo_array((np.ones(len(place)), (text, place)), (len(self.offsets) - 1, width)).tocsr()


View = Callable[[Tokens], Bag]


def words(tokens: Tokens) -> Bag:
    lowered = tokens.lower()
    n = len(tokens)
    hashes = _word_hashes(*_code_points(lowered.types))[lowered.ids]
    here = np.full(len(hashes) + n, _EDGE)  # the edge after every text, and so before the next
    here[np.arange(len(hashes)) + tokens.text_index] = hashes
    before = np.concatenate(([_EDGE], here[:-1]))
    with np.errstate(over="ignore"):
        pairs = ((before ^ (before >> np.uint64(31))) * _MULTIPLIER) ^ here
    pair_text = np.repeat(np.arange(n), tokens.lengths + 1)
    text = np.concatenate((tokens.text_index, pair_text))
    order = np.argsort(text, kind="stable")
    keys, ids = np.unique(np.concatenate((hashes, pairs))[order], return_inverse=True)
    return Bag(keys, ids, offsets_of(2 * tokens.lengths + 1))


def characters(tokens: Tokens, longest: int = 4) -> Bag:
    """N-grams of 2 to `longest` characters of the lower-cased words, each with a blank at both ends."""
    lowered = tokens.lower()
    points, starts = _code_points([f" {t} " for t in lowered.types])
    lengths = np.diff(starts)
    counts = sum(np.maximum(lengths - k + 1, 0) for k in range(2, longest + 1))
    counts = np.asarray(counts, np.int64)
    by_type = offsets_of(counts)
    keys, ranks = np.unique(_gram_hashes(points, starts, longest, by_type), return_inverse=True)
    ends, items = rows_of(by_type, lowered.ids)
    return Bag(keys, ranks[items], ends[tokens.offsets])


def _code_points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Longs]:
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return points, np.cumsum([0, *map(len, texts)], dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def _hash(points: Any) -> Any:
    key = _START
    for point in points:
        key = (key ^ np.uint64(point)) * _MULTIPLIER
        key ^= key >> _SHIFT
    return key


@numba.njit(cache=True, nogil=True)
def _word_hashes(points: Any, starts: Any) -> Any:
    result = np.empty(len(starts) - 1, np.uint64)
    for word in range(len(result)):
        result[word] = _hash(points[starts[word] : starts[word + 1]])
    return result


@numba.njit(cache=True, nogil=True)
def _gram_hashes(points: Any, starts: Any, longest: int, places: Any) -> Any:
    result = np.empty(places[-1], np.uint64)
    for text in range(len(starts) - 1):
        place = places[text]
        for k in range(2, longest + 1):
            for first in range(starts[text], starts[text + 1] - k + 1):
                result[place] = _hash(points[first : first + k])
                place += 1
    return result


@dataclass(frozen=True, eq=False)
class BagRegression:
    """Ridge regression on tf-idf rows of length 1.

    keys, inverse_frequency, coefficients  (k,) of the n-grams that the training texts have often enough
    intercept                              mean of the training labels
    """

    keys: Keys
    inverse_frequency: FloatArray
    coefficients: FloatArray
    intercept: float

    @classmethod
    def fit(
        cls, bag: Bag, labels: FloatArray, weights: FloatArray, *, penalty: float, minimum: int
    ) -> "BagRegression":
        """`minimum`: texts that an n-gram must occur in; `weights` (n,) of the texts, 1 on average."""
        counts = bag.counts(np.arange(len(bag.keys)), len(bag.keys))
        frequency = np.bincount(counts.indices, minlength=len(bag.keys))
        kept = frequency >= minimum
        keys, inverse = bag.keys[kept], np.log((1 + len(labels)) / (1 + frequency[kept])) + 1
        counts = bag.counts(find(keys, bag.keys).astype(np.int64), len(keys))
        counts.data = (1 + np.log(counts.data)) * inverse[counts.indices]
        lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        roots, intercept = np.sqrt(weights), float(np.average(labels, weights=weights))
        rows = sparse.diags_array(roots) @ (sparse.diags_array(scale) @ counts)
        solved = lsqr(rows, roots * (labels - intercept), damp=float(np.sqrt(penalty)), iter_lim=_ITERATIONS)
        return cls(keys, inverse, np.asarray(solved[0], np.float64), intercept)

    def predict(self, bag: Bag) -> FloatArray:
        """Predictions (n,) in units of the label; the intercept for a text without known n-grams."""
        result = np.full(len(bag.offsets) - 1, self.intercept)
        columns = find(self.keys, bag.keys).astype(np.int64)
        _predict(bag.ids, bag.offsets, columns, self.inverse_frequency, self.coefficients, result)
        return result

    def save(self, path: Path) -> None:
        path.mkdir()
        np.save(path / "ngrams.npy", self.keys, allow_pickle=False)
        values = np.vstack([self.inverse_frequency, self.coefficients])
        np.save(path / "values.npy", values, allow_pickle=False)
        np.save(path / "intercept.npy", np.array(self.intercept), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "BagRegression":
        values = np.load(path / "values.npy", allow_pickle=False)
        keys = np.load(path / "ngrams.npy", allow_pickle=False)
        typed("ngrams", keys, np.uint64, None)
        typed("values", values, np.float64, 2, len(keys))
        finite("values", values, -_LARGEST, _LARGEST)
        intercept = np.load(path / "intercept.npy", allow_pickle=False)
        return cls(keys, values[0], values[1], number("intercept", intercept, -_LARGEST, _LARGEST))


@numba.njit(cache=True, nogil=True)
def _predict(
    ids: Any, offsets: Any, columns: Any, inverse_frequency: Any, coefficients: Any, result: Any
) -> None:
    counts = np.zeros(len(coefficients), np.int32)
    for text in range(len(result)):
        items = ids[offsets[text] : offsets[text + 1]]
        for item in items:
            if columns[item] >= 0:
                counts[columns[item]] += 1
        product, length = 0.0, 0.0
        for item in items:
            column = columns[item]
            if column >= 0 and counts[column] > 0:
                weight = (1 + np.log(counts[column])) * inverse_frequency[column]
                product += weight * coefficients[column]
                length += weight * weight
                counts[column] = 0
        if length > 0:
            result[text] += product / np.sqrt(length)


_ORIGIN: Final = "this project: feasibility study on MLQE-PE (bag-of-words ridge)"
_VIEWS: Final[tuple[tuple[str, str, View], ...]] = (
    ("words", "words and pairs of neighbours", words),
    ("characters", "2 to 4 letters in a row", characters),
)
_SIDES: Final = ("source", "target")


@dataclass(frozen=True, eq=False)
class BagOfWords(FittedExtractor):
    """The label predicted by ridge regression on tf-idf n-grams.

    N-grams of words or of letters, of the source or of the target.

    penalty  of the squared coefficients (rows have length 1)
    minimum  training texts that an n-gram must occur in

    Rows are weighted by the number of annotators where the training data says it. An empty text gets NaN.
    """

    plain: ClassVar[str] = "which words the {text} has"

    penalty: Positive = 3.0
    minimum: Count = 2
    models: Mapping[str, BagRegression] | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"bag_of_words_{side}_{name}",
                f"label predicted from the {side}'s {what}; undefined for an empty text", _ORIGIN,
                "as the label")
            for side in _SIDES
            for name, what, _ in _VIEWS
        ]  # fmt: skip

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        scores = np.asarray(labels["scores"], np.float64)
        weights = np.asarray(labels.get("annotators", np.ones(len(scores))), np.float64)
        return self.with_learned(
            models={
                f"{side}_{name}": BagRegression.fit(
                    view(getattr(segments, f"{side}_tokens")),
                    scores,
                    weights / weights.mean(),
                    penalty=self.penalty,
                    minimum=self.minimum,
                )
                for side in _SIDES
                for name, _, view in _VIEWS
            }
        )

    def extract(self, segments: Segments) -> FloatArray:
        models, columns = self.learned(self.models), []
        for side in _SIDES:
            tokens = getattr(segments, f"{side}_tokens")
            for name, _, view in _VIEWS:
                predicted = models[f"{side}_{name}"].predict(view(tokens))
                columns.append(np.where(tokens.lengths > 0, predicted, np.nan))
        return np.column_stack(columns)

    def save(self, path: Path) -> None:
        for name, model in self.learned(self.models).items():
            model.save(path / name)

    def restore(self, path: Path) -> Self:
        names = [f"{side}_{name}" for side in _SIDES for name, _, _ in _VIEWS]
        return self.with_learned(models={name: BagRegression.load(path / name) for name in names})
