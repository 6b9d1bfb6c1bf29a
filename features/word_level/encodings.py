"""Target encodings: the share of BAD among the training tokens with the same key, smoothed.

Tokens with probabilities instead of tags count by their probability of BAD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.storage.arrays import finite, number, typed
from features.word_level.columns import Floats, Longs
from features.word_level.keys import Keys, places
from features.word_level.labels import Bad

_PRIOR = 5.0  # training tokens that the overall share counts for
_FOLDS = 8
_MOST = 1e15  # tokens of training data


@dataclass(frozen=True, eq=False)
class Encoding:
    """How often each key was seen and was BAD; `keys` ascending."""

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
        """(n, 2) smoothed share of BAD (micci-barreca 2001), logarithm of 1 + times seen."""
        occurrences, bad = np.zeros(len(keys)), np.zeros(len(keys))
        place, known = places(self.keys, keys)
        occurrences[known], bad[known] = self.occurrences[place[known]], self.bad[place[known]]
        return np.column_stack([(bad + _PRIOR * self.share) / (occurrences + _PRIOR), np.log1p(occurrences)])


def fit_encodings(keys: Mapping[str, Keys], bad: Bad) -> dict[str, Encoding]:
    return {name: Encoding.fit(column, bad) for name, column in keys.items()}


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
    """(n, 2 k) columns of the training tokens, each by the other parts of the segments. Parts are contiguous,
    so that few come from the token's own document.
    """
    n = int(segment[-1]) + 1 if len(segment) else 0
    part = segment * _FOLDS // max(n, 1)
    occurrences, wrong = (np.bincount(part, weights=w, minlength=_FOLDS) for w in (None, bad))
    rest = (occurrences.sum() - occurrences).astype(np.float64)
    share = np.divide(wrong.sum() - wrong, rest, out=np.full(_FOLDS, 0.5), where=rest > 0)[part]
    columns = [column for key in keys.values() for column in _elsewhere(key, bad, part, share)]
    return np.column_stack(columns) if columns else np.empty((len(bad), 0))


def _elsewhere(keys: Keys, bad: Bad, part: Longs, share: Floats) -> tuple[Floats, Floats]:
    distinct, index = np.unique(keys, return_inverse=True)
    place = index * _FOLDS + part
    size = len(distinct) * _FOLDS
    occurrences = np.bincount(place, minlength=size).astype(np.float64)
    wrong = np.bincount(place, weights=bad, minlength=size)
    outside = occurrences.reshape(-1, _FOLDS).sum(axis=1)[index] - occurrences[place]
    wrong_outside = wrong.reshape(-1, _FOLDS).sum(axis=1)[index] - wrong[place]
    return (wrong_outside + _PRIOR * share) / (outside + _PRIOR), np.log1p(outside)
