"""What an encoder says of a translation in any of its languages, for one model of many language pairs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Seed
from features.core.extractor import Feature, FittedExtractor, TableColumn
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, deviation, lowest_mean
from features.decoder_output.tokens import step_values
from features.encoder import Encoder
from features.encoding.encoded import EncodedPairs, Match, cosines, joined, unit_rows
from features.storage.boosted_trees import check_trees
from features.storage.damage import Damaged, finite, typed
from features.text.tokens import segment_mean, segment_min

_OWN: Final = "this project"
_ALL: Final = ""  # the group of all pairs together, for rows of a pair that was not learned from
_SHARES: Final = np.linspace(0, 1, 201)  # of the stored quantiles
_BLOCK: Final = 1024  # rows whose joint vectors are held at a time
_LOG_PROBABILITIES: Final = (
    ("mean", "mean"),
    ("lowest", "lowest"),
    ("sd", "standard deviation"),
    ("worst", "mean of the lowest quarter"),
)


@dataclass(frozen=True, eq=False)
class Multilingual(FittedExtractor):
    """Cosines by layer, token matches, lengths, a ridge and trees on vectors, log-probabilities.

    model    as in `encoder`
    layers   inner layers, counted from 1, that are read in addition to the last
    penalty  of the ridge on the vectors of source, target, |difference| and product, of length 1, by all
             layers, per row
    trees    that LightGBM boosts on the same vectors, cosines, matches and lengths; 0: none
    seed     of the trees

    Nothing is of one language. Each value is there as it is and as its rank among training rows: of the row's
    `language_pair` if that was learned from, else of all pairs. A row is predicted by a ridge and trees that
    have not learned from its pair, as rows of another pair are. Log-probabilities of a decoder are used in
    rows that have them.
    """

    plain: ClassVar[str] = "how near source and translation are in meaning"
    cross_fitted: ClassVar[bool] = False

    model: str | Path
    layers: Sequence[Annotated[int, Ge(1)]] = (4, 8)
    penalty: Annotated[float, Gt(0)] = 0.002
    trees: Annotated[int, Ge(0)] = 400
    seed: Seed = 0
    _learned: "_Learned | None" = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        values = list(self._values())
        less = "share of training rows of the language pair, or of all, that have less"
        by = "mean of a ridge and of trees" if self.trees else "a ridge"
        return [
            *(Feature(f"multilingual_{name}", what, _OWN, unit) for name, what, unit in values),
            *(Feature(f"multilingual_{name}_rank", f"{less}: {what}", _OWN, "share")
              for name, what, _ in values),
            Feature("multilingual_decoder", "1 if there are log-probabilities, else 0", _OWN, "0 or 1"),
            Feature("multilingual_prediction",
                f"label predicted by {by} that have not learned from the pair; NaN if a text has no known "
                "token", _OWN, "label"),
        ]  # fmt: skip

    def _values(self) -> Iterator[tuple[str, str, str]]:
        unknown = "NaN if a text has no known token"
        for layer in ("last", *self.layers):
            yield f"cosine_{layer}", f"cosine of the vectors by layer {layer}; {unknown}", "cosine"
        for name in Match._fields:
            yield f"match_{name}", f"token match, target against source: {name}; {unknown}", "cosine"
        for side in ("source", "target"):
            yield f"{side}_log_characters", f"logarithm of the characters of the {side}; NaN without", "log"
        yield "log_ratio", "logarithm of characters of the target by those of the source; NaN without", "log"
        for name, meaning in _LOG_PROBABILITIES:
            yield (
                f"decoder_{name}",
                f"{meaning} of the log-probabilities of the decoder's tokens; NaN without",
                "nats",
            )

    @cached_property
    def _reader(self) -> Encoder:
        return Encoder(self.model, layers=self.layers, pca=0)

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",)

    def table_columns(self) -> Sequence[TableColumn]:
        names = ("language_pair", "token_log_probabilities")
        return [TableColumn(name, number=False, optional=True) for name in names]

    def content_fingerprint(self) -> str:
        return self._reader.content_fingerprint()

    def checksums(self) -> Mapping[str, str]:
        return self._reader.checksums()

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        groups = _rows_of_pairs(segments)
        if len(groups) < 2:
            raise InputError(
                "the family multilingual learns from several language pairs, but there is one",
                remedy="use `format: language_pairs`, or the family `encoder` for one pair",
            )
        encoded = self._reader.pairs(segments)
        values, scores = self._compared(segments, encoded), np.asarray(labels["scores"], np.float64)
        quantiles = {_ALL: _quantiles(values)}
        quantiles |= {pair: _quantiles(values[rows]) for pair, rows in groups.items()}
        sums = {pair: _Sums.of_rows(encoded, rows, scores) for pair, rows in groups.items()}
        ridges = {}
        for held_out in (_ALL, *groups):
            # Nothing is subtracted from a total: its rounding would depend on labels of the pair left out.
            total = reduce(add, [of_pair for pair, of_pair in sums.items() if pair != held_out])
            ridges[held_out] = total.ridge(self.penalty)
        trees = _leave_out_trees(encoded, values, scores, groups, self.trees, self.seed)
        return self.with_learned(_learned=_Learned(quantiles, ridges, trees))

    def extract(self, segments: Segments) -> FloatArray:
        learned = self.learned(self._learned)
        encoded = self._reader.pairs(segments)
        values = self._compared(segments, encoded)
        ranks, predicted = np.full(values.shape, np.nan), np.full(len(segments), np.nan)
        for pair, rows in _rows_of_pairs(segments).items():
            ranks[rows] = learned.ranks(pair, values[rows])
            predicted[rows] = learned.predict(pair, encoded, values, rows)
        decoder = np.isfinite(values[:, -1])
        return np.column_stack([values, ranks, decoder, predicted])

    def _compared(self, segments: Segments, encoded: EncodedPairs) -> FloatArray:
        of_layers = np.full((len(encoded.first), 1 + len(self.layers)), np.nan)
        if encoded.first.shape[1]:
            for j, layer in enumerate(encoded.by_layer()):
                of_layers[:, j] = cosines(layer.first, layer.second)
        characters = ([len(text) or np.nan for text in texts] for texts in (segments.source, segments.target))
        source, target = (np.log(np.array(lengths, np.float64)) for lengths in characters)
        decoder = _log_probabilities(segments)
        return np.column_stack([of_layers, encoded.matches, source, target, target - source, decoder])

    def save(self, path: Path) -> None:
        self.learned(self._learned).save(path)
        self._reader.copy_encoder(path)

    def restore(self, path: Path) -> Self:
        learned = _Learned.load(path, len(list(self._values())))
        return self.with_learned(_learned=learned, _reader=self._reader.reading_copy(path))


@dataclass(frozen=True, eq=False)
class _Learned:
    """By pair, and of all (`_ALL`): (201, k) quantiles of the values, (d + 1,) slopes of the ridge that has
    not learned from the pair, with its intercept, and trees that have not, in LightGBM's text.
    """

    quantiles: Mapping[str, FloatArray]
    ridges: Mapping[str, FloatArray]
    trees: Mapping[str, str]

    @cached_property
    def boosters(self) -> dict[str, Any]:
        import lightgbm  # slow to import

        return {pair: lightgbm.Booster(model_str=text) for pair, text in self.trees.items()}

    def ranks(self, pair: str, values: FloatArray) -> FloatArray:
        everywhere = self.quantiles[_ALL]
        stored = self.quantiles.get(pair, everywhere)
        ranks = np.full(values.shape, np.nan)
        for j in range(values.shape[1]):
            column = stored[:, j] if np.isfinite(stored[0, j]) else everywhere[:, j]
            if np.isfinite(column[0]):
                ranks[:, j] = np.interp(values[:, j], column, _SHARES)
        return ranks

    def predict(
        self, pair: str, encoded: EncodedPairs, values: FloatArray, rows: NDArray[np.int64]
    ) -> FloatArray:
        slopes = self.ridges.get(pair, self.ridges[_ALL])
        booster = self.boosters.get(pair, self.boosters.get(_ALL))
        result = np.empty(len(rows))
        for i in range(0, len(rows), _BLOCK):
            block = rows[i : i + _BLOCK]
            joint = _joint(encoded, block, len(slopes) - 1)
            predicted = np.einsum("nd,d->n", joint, slopes[:-1]) + slopes[-1]
            known = np.isfinite(predicted)
            if booster is not None and known.any():
                of_trees = booster.predict(_tree_columns(joint, values[block])[known], num_threads=1)
                predicted[known] = (predicted[known] + of_trees) / 2
            result[i : i + _BLOCK] = predicted
        return result

    def save(self, path: Path) -> None:
        (path / "pairs.json").write_text(json.dumps(list(self.quantiles)), "utf-8")
        (path / "trees.json").write_text(json.dumps(self.trees), "utf-8")
        for name, arrays in (("quantiles", self.quantiles), ("ridges", self.ridges)):
            np.save(
                path / f"{name}.npy", np.array([arrays[pair] for pair in self.quantiles]), allow_pickle=False
            )

    @classmethod
    def load(cls, path: Path, width: int) -> "_Learned":
        pairs = json.loads((path / "pairs.json").read_text("utf-8"))
        if not isinstance(pairs, list) or pairs[:1] != [_ALL] or not all(isinstance(p, str) for p in pairs):
            raise Damaged("`pairs` must be a list of texts that begins with an empty one")
        quantiles = np.load(path / "quantiles.npy", allow_pickle=False)
        ridges = np.load(path / "ridges.npy", allow_pickle=False)
        typed("quantiles", quantiles, np.float64, len(pairs), len(_SHARES), width)
        typed("ridges", ridges, np.float64, len(pairs), None)
        finite("ridges", ridges)
        trees = json.loads((path / "trees.json").read_text("utf-8"))
        if not isinstance(trees, dict) or list(trees) not in ([], pairs):
            raise Damaged("`trees` must be those of the pairs")
        for text in trees.values():
            check_trees(str(text))
        return cls(dict(zip(pairs, quantiles, strict=True)), dict(zip(pairs, ridges, strict=True)), trees)


def _rows_of_pairs(segments: Segments) -> dict[str, NDArray[np.int64]]:
    """Pair -> its rows; rows without a pair are those of `_ALL`."""
    pairs = np.array(segments.language_pair or [_ALL] * len(segments), dtype=object)
    return {pair: np.flatnonzero(pairs == pair) for pair in dict.fromkeys(pairs.tolist())}


def _quantiles(values: FloatArray) -> FloatArray:
    result = np.full((len(_SHARES), values.shape[1]), np.nan)
    for j, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        if len(known):
            result[:, j] = np.quantile(known, _SHARES)
    return result


def _log_probabilities(segments: Segments) -> FloatArray:
    lines = [text.split() for text in segments.token_log_probabilities or [""] * len(segments)]
    lines = [line if len(line) > 1 else [] for line in lines]  # one is of the end of the sentence alone
    values = step_values(segments, lines, "token_log_probabilities")
    lengths = np.array([len(line) for line in lines], np.int64)
    offsets = np.append(0, np.cumsum(lengths))
    worst = lowest_mean(ascending(values, offsets), offsets, np.maximum(lengths // 4, 1))
    return np.column_stack(
        [segment_mean(values, offsets), segment_min(values, offsets), deviation(values, offsets), worst]
    )


def _joint(encoded: EncodedPairs, rows: NDArray[np.int64], width: int) -> FloatArray:
    if not encoded.first.shape[1]:  # no text has a known token
        return np.full((len(rows), width), np.nan)
    layers = encoded.by_layer()
    parts = [joined(unit_rows(each.second[rows]), unit_rows(each.first[rows])) for each in layers]
    return np.hstack(parts)


def _tree_columns(joint: FloatArray, values: FloatArray) -> NDArray[np.float32]:
    """What trees read: joint vectors, and the values but for the log-probabilities."""
    return np.hstack([joint, values[:, : -len(_LOG_PROBABILITIES)]], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows of which ridges are made: rows, vectors (d,), their products (d, d), and with labels."""

    rows: float
    labels: float
    vectors: FloatArray
    products: FloatArray
    moments: FloatArray

    @classmethod
    def of_rows(cls, encoded: EncodedPairs, rows: NDArray[np.int64], scores: FloatArray) -> "_Sums":
        width = 4 * encoded.first.shape[1] * len(encoded.by_layer())
        sums = cls(0.0, 0.0, np.zeros(width), np.zeros((width, width)), np.zeros(width))
        for i in range(0, len(rows), _BLOCK):
            joint = _joint(encoded, rows[i : i + _BLOCK], width)
            known = np.isfinite(joint).all(axis=1)
            joint, labels = joint[known], scores[rows[i : i + _BLOCK]][known]
            each = cls(len(joint), labels.sum(), joint.sum(axis=0), joint.T @ joint, joint.T @ labels)
            sums = sums + each
        return sums

    def __add__(self, added: "_Sums") -> "_Sums":
        pairs = zip(vars(self).values(), vars(added).values(), strict=True)
        return _Sums(*(mine + theirs for mine, theirs in pairs))

    def ridge(self, penalty: float) -> FloatArray:
        """(d + 1,) slopes and intercept."""
        if not self.rows:
            raise InputError(
                "no training segment outside one of the language pairs has a token that the encoder knows",
                remedy="take an encoder of both languages",
            )
        mean, label = self.vectors / self.rows, self.labels / self.rows
        covariance = self.products - np.outer(self.vectors, mean)
        covariance[np.diag_indices_from(covariance)] += penalty * self.rows
        slopes = cho_solve(cho_factor(covariance), self.moments - self.vectors * label)
        return np.append(slopes, label - mean @ slopes)


_BOOSTING: Final = {
    "objective": "l2", "learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 100, "lambda_l2": 10,
    "feature_fraction": 0.05, "bagging_fraction": 0.6, "bagging_freq": 1, "max_bin": 63, "num_threads": 1,
    "deterministic": True, "force_row_wise": True, "verbose": -1,
}  # fmt: skip


def _leave_out_trees(
    encoded: EncodedPairs, values: FloatArray, scores: FloatArray, groups: Mapping[str, NDArray[np.int64]],
    count: int, seed: int,
) -> dict[str, str]:  # fmt: skip
    """Pair (or `_ALL`) -> trees learned from all rows of other pairs whose texts have known tokens."""
    if not count:
        return {}
    import lightgbm  # slow to import

    width = 4 * encoded.first.shape[1] * len(encoded.by_layer())
    blocks = [np.arange(i, min(i + _BLOCK, len(values))) for i in range(0, len(values), _BLOCK)]
    columns = [_tree_columns(_joint(encoded, block, width), values[block]) for block in blocks]
    vectors = np.concatenate(columns)
    known = np.isfinite(vectors[:, 0])
    settings = {**_BOOSTING, "seed": seed}
    # Bins are those of all rows: they know no label.
    data = lightgbm.Dataset(vectors, scores, params=settings).construct()
    result = {}
    for held_out in (_ALL, *groups):
        known_here = known.copy()
        known_here[groups.get(held_out, [])] = False
        subset = data.subset(np.flatnonzero(known_here).tolist())
        result[held_out] = str(lightgbm.train(settings, subset, count).model_to_string())
    return result
