"""Keys of tokens and gaps (64-bit hashes of words, pairs, annotation), and their target encodings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import row_index
from features.basics.distinct import find
from features.core.segments import Segments
from features.storage.damage import finite, number, typed
from features.text.annotation import LAYERS, Layer
from features.text.annotation import NOTHING as NO_LEMMA
from features.text.tokens import Tokens
from features.word_level.columns import Floats, Longs
from features.word_level.labels import Bad
from features.word_level.lookups import TokenLinks

Keys = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.number[Any])

NOTHING = np.uint64(0x9E3779B97F4A7C15)  # beyond the text, or unaligned
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
_SUFFIX = 3  # letters


@dataclass(frozen=True, eq=False)
class WordClasses:
    source: NDArray[np.int32]
    target: NDArray[np.int32]


def word_keys(segments: Segments, links: TokenLinks, classes: WordClasses) -> dict[str, Keys]:
    target, source = segments.target_tokens, segments.source_tokens
    word, suffix, original = hashes(target), hashes(target, _SUFFIX), hashes(source)
    aligned = key_at(original, links.best)
    after_aligned = key_at(neighbour_keys(original, source.offsets, 1), links.best)
    before_aligned = key_at(neighbour_keys(original, source.offsets, -1), links.best)
    kind, source_kind = classes.target.astype(np.uint64), key_at(classes.source.astype(np.uint64), links.best)
    kind_before, kind_after = (
        neighbour_keys(kind, target.offsets, -1),
        neighbour_keys(kind, target.offsets, 1),
    )
    return {
        "word": word,
        "source": aligned,
        **neighbours(word, suffix, aligned, target.offsets),
        "source_before": paired(before_aligned, aligned),
        "source_after": paired(aligned, after_aligned),
        "word_source_before": paired(word, before_aligned),
        "word_source_after": paired(word, after_aligned),
        "class": kind,
        "source_class": source_kind,
        "class_pair": paired(kind, source_kind),
        "class_before": paired(kind_before, kind),
        "class_after": paired(kind, kind_after),
        "class_around": paired(paired(kind_before, kind), kind_after),
    }


def triple_keys(keys: Mapping[str, Keys], offsets: Longs) -> dict[str, Keys]:
    return {
        "around": paired(keys["bigram"], keys["after"]),
        "two_before": paired(neighbour_keys(keys["before"], offsets, -1), keys["bigram"]),
        "two_after": paired(keys["bigram_next"], neighbour_keys(keys["after"], offsets, 1)),
        "pair_before": paired(keys["pair"], keys["before"]),
        "pair_after": paired(keys["pair"], keys["after"]),
        "word_source_around": paired(keys["word"], paired(keys["source_before"], keys["source_after"])),
    }


def neighbours(word: Keys, suffix: Keys, aligned: Keys, offsets: Longs) -> dict[str, Keys]:
    before, after = neighbour_keys(word, offsets, -1), neighbour_keys(word, offsets, 1)
    return {
        "pair": paired(word, aligned),
        "before": before,
        "after": after,
        "bigram": paired(before, word),
        "bigram_next": paired(word, after),
        "suffixes": paired(suffix, neighbour_keys(suffix, offsets, 1)),
    }


def gap_keys(segments: Segments, classes: WordClasses) -> dict[str, Keys]:
    offsets = segments.target_tokens.offsets
    left_values, right = gap_sides(hashes(segments.target_tokens), offsets, NOTHING)
    left_kind, right_kind = gap_sides(classes.target.astype(np.uint64), offsets, NOTHING)
    return {
        "left": left_values,
        "right": right,
        "both": paired(left_values, right),
        "classes": paired(left_kind, right_kind),
        "left_class": paired(left_kind, right),
        "right_class": paired(left_values, right_kind),
    }


def gap_sides(
    values: NDArray[Number], offsets: Longs, missing: object
) -> tuple[NDArray[Number], NDArray[Number]]:
    """(n_gaps,) the values of the tokens before and after every gap; `missing` beyond the text."""
    size = len(values) + len(offsets) - 1
    left_values, right = np.full(size, missing, values.dtype), np.full(size, missing, values.dtype)
    place = np.arange(len(values)) + row_index(offsets)
    right[place] = values
    left_values[place + 1] = values
    return left_values, right


def paired(left_values: Keys, right: Keys) -> Keys:
    with np.errstate(over="ignore"):
        mixed = (left_values ^ (left_values >> np.uint64(31))) * _MULTIPLIER + right
    return np.asarray(mixed ^ (mixed >> np.uint64(29)), np.uint64)


def hashes(tokens: Tokens, suffix: int = 0) -> Keys:
    lowered = tokens.lower()
    by_type = [_hash(word[-suffix:] if suffix else word) for word in lowered.types]
    return np.array(by_type, np.uint64)[lowered.ids] if by_type else np.empty(0, np.uint64)


@lru_cache(1 << 17)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def key_at(values: Keys, index: Longs) -> Keys:
    """(k,) the values at `index`; `NOTHING` for -1."""
    result = np.full(len(index), NOTHING, np.uint64)
    result[index >= 0] = values[index[index >= 0]]
    return result


def neighbour_keys(values: Keys, offsets: Longs, offset: int) -> Keys:
    """(n_tokens,) the values of the token before (`offset` -1) or after; `NOTHING` beyond the text."""
    left_values, right = gap_sides(values, offsets, NOTHING)
    place = np.arange(len(values)) + row_index(offsets)
    return np.asarray(left_values[place] if offset < 0 else right[place + 1], np.uint64)


def places(sorted_keys: Keys, wanted: Keys) -> tuple[Longs, NDArray[np.bool_]]:
    """Places (n,) of wanted keys among ascending ones, 0 if absent; whether they are there."""
    positions = find(sorted_keys, wanted).astype(np.int64)
    return np.maximum(positions, 0), positions >= 0


_PRIOR = 5.0  # training tokens that the overall share counts for
_FOLDS = 8
_MOST = 1e15  # tokens of training data


@dataclass(frozen=True, eq=False)
class Encoding:
    """Times that each key was seen and was BAD; `keys` ascending."""

    keys: Keys
    occurrences: Floats
    bad: Floats
    share: float

    @classmethod
    def fit(cls, keys: Keys, bad: Bad) -> "Encoding":
        distinct, index = np.unique(keys, return_inverse=True)
        occurrences = np.bincount(index, minlength=len(distinct)).astype(np.float64)
        share = float(bad.mean()) if len(bad) else 0.5
        times = np.bincount(index, weights=bad, minlength=len(distinct)).astype(np.float64)
        return cls(distinct, occurrences, times, share)

    def columns(self, keys: Keys) -> Floats:
        occurrences, bad = np.zeros(len(keys)), np.zeros(len(keys))
        place, known = places(self.keys, keys)
        occurrences[known], bad[known] = self.occurrences[place[known]], self.bad[place[known]]
        return np.column_stack([(bad + _PRIOR * self.share) / (occurrences + _PRIOR), np.log1p(occurrences)])


def save_encodings(encodings: Mapping[str, Encoding], path: Path) -> None:
    for name, encoding in encodings.items():
        np.save(path / f"{name}.keys.npy", encoding.keys, allow_pickle=False)
        counts = np.vstack([encoding.occurrences, encoding.bad])
        np.save(path / f"{name}.counts.npy", counts, allow_pickle=False)
        np.save(path / f"{name}.share.npy", np.array(encoding.share), allow_pickle=False)


def load_encodings(path: Path) -> dict[str, Encoding]:
    encodings = {}
    for file in sorted(path.glob("*.keys.npy")):
        name = file.name.removesuffix(".keys.npy")
        keys = np.load(file, allow_pickle=False)
        counts = np.load(path / f"{name}.counts.npy", allow_pickle=False)
        typed("keys", keys, np.uint64, None)
        typed("counts", counts, np.float64, 2, len(keys))
        finite("counts", counts, 0, _MOST)
        share = number("share", np.load(path / f"{name}.share.npy", allow_pickle=False), 0, 1)
        encodings[name] = Encoding(keys, counts[0], counts[1], share)
    return encodings


def encoded(encodings: Mapping[str, Encoding], keys: Mapping[str, Keys]) -> Floats:
    """(n, 2 k) columns of tokens that the encodings were not fitted on."""
    return np.hstack([encodings[name].columns(column) for name, column in keys.items()])


def out_of_fold(keys: Mapping[str, Keys], bad: Bad, segment: Longs) -> Floats:
    """Columns (n, 2 k) of the training tokens, each by the other, contiguous, parts of the segments."""
    n = int(segment[-1]) + 1 if len(segment) else 0
    part = segment * _FOLDS // max(n, 1)
    occurrences, wrong = (np.bincount(part, weights=w, minlength=_FOLDS) for w in (None, bad))
    rest = (occurrences.sum() - occurrences).astype(np.float64)
    share = np.divide(wrong.sum() - wrong, rest, out=np.full(_FOLDS, 0.5), where=rest > 0)[part]
    columns = []
    for key in keys.values():
        distinct, index = np.unique(key, return_inverse=True)
        place, size = index * _FOLDS + part, len(distinct) * _FOLDS
        occurrences = np.bincount(place, minlength=size).astype(np.float64)
        wrong = np.bincount(place, weights=bad, minlength=size)
        outside = occurrences.reshape(-1, _FOLDS).sum(axis=1)[index] - occurrences[place]
        wrong_outside = wrong.reshape(-1, _FOLDS).sum(axis=1)[index] - wrong[place]
        columns += [(wrong_outside + _PRIOR * share) / (outside + _PRIOR), np.log1p(outside)]
    return np.column_stack(columns) if columns else np.empty((len(bad), 0))


_COLUMN = {"source": "annotation_source", "target": "annotation_target"}
_NEIGHBOURHOODS: tuple[Layer, ...] = ("upos", "xpos")  # few enough tags for three in a row


def annotation_keys(
    segments: Segments, links: TokenLinks, use: frozenset[str]
) -> tuple[dict[str, Keys], dict[str, Keys]]:
    words: dict[str, Keys] = {}
    gaps: dict[str, Keys] = {}
    for layer in LAYERS:
        sides = {side: hashes(_layer(segments, side, layer)) for side in _COLUMN if _COLUMN[side] in use}
        words |= {f"{layer}_{name}": keys for name, keys in _of_words(sides, segments, links, layer).items()}
        if "target" in sides:
            keys_of_words = sides["target"]
            offsets = segments.target_tokens.offsets
            left, right = gap_sides(keys_of_words, offsets, NOTHING)
            before, _ = gap_sides(neighbour_keys(keys_of_words, offsets, -1), offsets, NOTHING)
            _, after = gap_sides(neighbour_keys(keys_of_words, offsets, 1), offsets, NOTHING)
            both = paired(left, right)
            gap_keys = {"both": both, "before_both": paired(before, both), "both_after": paired(both, after)}
            gaps |= {f"{layer}_{name}": keys for name, keys in gap_keys.items()}
    return words, gaps


def _layer(segments: Segments, side: str, layer: Layer) -> Tokens:
    tokens = segments.source_tokens if side == "source" else segments.target_tokens
    annotated = segments.source_annotated if side == "source" else segments.target_annotated
    layer_column = annotated.layer(layer).lower()
    if layer != "lemma":
        return layer_column
    keys_of_words = tokens.lower()
    texts = (
        [
            word if lemma == NO_LEMMA else lemma
            for lemma, word in zip(layer_column.words(i), keys_of_words.words(i), strict=True)
        ]
        for i in range(len(tokens))
    )
    return Tokens.from_lists(texts)


def _of_words(sides: dict[str, Keys], segments: Segments, links: TokenLinks, layer: Layer) -> dict[str, Keys]:
    target, source = segments.target_tokens.offsets, segments.source_tokens.offsets
    around = layer in _NEIGHBOURHOODS
    keys: dict[str, Keys] = {}
    if "source" in sides:
        other = sides["source"]
        keys["source"] = aligned = key_at(other, links.best)
        if around:
            before, after = (key_at(neighbour_keys(other, source, by), links.best) for by in (-1, 1))
            keys["source_around"] = paired(paired(before, aligned), after)
    if "target" in sides:
        keys_of_words = sides["target"]
        before, after = neighbour_keys(keys_of_words, target, -1), neighbour_keys(keys_of_words, target, 1)
        keys |= {
            "target": keys_of_words,
            "before": paired(before, keys_of_words),
            "after": paired(keys_of_words, after),
        }
        if around:
            keys["around"] = paired(paired(before, keys_of_words), after)
    if len(sides) == 2:
        keys["pair"] = pair = paired(keys_of_words, aligned)
        if around:
            keys["pair_around"] = paired(
                pair,
                paired(neighbour_keys(keys_of_words, target, -1), neighbour_keys(keys_of_words, target, 1)),
            )
    return keys
