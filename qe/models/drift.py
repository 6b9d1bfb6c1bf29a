"""Drift: profile of the training data, and comparison of new segments with it."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Interval
from numpy.typing import NDArray
from scipy.special import chdtri

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.damage import Damaged, typed
from features.text.tokens import Tokens
from qe.display.numbers import number, percent
from qe.display.summary import Printable, Record
from qe.models.artifact import REMEDY, Artifact
from qe.models.language_profile import BUCKETS, LanguageProfile

CountArray = NDArray[np.int64]
Share = Annotated[float, Interval(ge=0, le=1)]
_BINS = 10  # bins for defined values; one more holds undefined values
MAJOR_PSI = 0.25  # usual threshold of a major shift (Siddiqi 2006, credit scoring)
OOV_JUMP, SIGN_JUMP = 0.10, 0.20  # increases of a share over training data that are reported
FEWEST = 30  # minimum number of segments for a verdict
LENGTHS = ("source characters", "target characters", "target characters per source character")
SIDES = ("source", "target")
SIGNS = ("source in another language", "target in another language", "target in the source language",
         "source and target swapped")  # fmt: skip


@dataclass(frozen=True)
class FeatureShift:
    """Stability index of a feature (`chance`: 99th percentile of the largest), undefined shares."""

    name: str
    psi: Annotated[float, Ge(0)]
    chance: float
    undefined: Share
    undefined_in_training: Share


@dataclass(frozen=True)
class DriftReport(Record):
    """Comparison of a batch of `n` segments with the training data.

    Attributes
    ----------
    shifts : tuple of FeatureShift
        Features and lengths by population stability index, largest first.
    oov : mapping of str to pair of float and float
        Side -> shares of unknown tokens in the batch and in held-out training rows.
    signs : mapping of str to pair of float and float
        Sign of a wrong language -> shares of segments with it in the batch and in held-out training rows.
    warnings : tuple of str
        Differences from training; empty for fewer than 30 segments, too few for a verdict.
    """

    n: int
    shifts: tuple[FeatureShift, ...]
    oov: Mapping[str, tuple[float, float]]
    signs: Mapping[str, tuple[float, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Profile(Artifact, Printable):
    """Counts that describe the training data; `observe` counts new segments in the same form.

    Attributes
    ----------
    names : tuple of str
        Features, then lengths.
    edges : tuple of tuple of float
        Per name, increasing edges between bins of about equal size (9 at most).
    counts : array of int
        (names, 11) training rows per bin, the last bin for undefined values.
    words : pair of array of uint32 and array of uint32
        Source and target words of the training data, as sorted hashes.
    languages : pair of LanguageProfile and LanguageProfile
        Profiles of source and target.
    limits : pair of float and float
        99th percentile of bits per character of held-out training rows, per side.
    tokens : array of int
        (4,) source tokens, unknown source tokens, target tokens, unknown target tokens of held-out
        training rows.
    signs : array of int
        (4,) held-out training rows with each sign of a wrong language.
    """

    file: ClassVar[str] = "profile"
    noun: ClassVar[str] = "the profile of the training data"
    absent: ClassVar[str] = "the model has no profile of its training data"

    names: tuple[str, ...]
    edges: tuple[tuple[float, ...], ...]
    counts: CountArray
    words: tuple[NDArray[np.uint32], NDArray[np.uint32]]
    languages: tuple[LanguageProfile, LanguageProfile]
    limits: tuple[float, float]
    tokens: CountArray
    signs: CountArray

    @classmethod
    def make(cls, segments: Segments, features: FloatArray, names: Sequence[str], seed: int = 0) -> Self:
        """Creates the profile from segments and (n, k) features; held-out counts are cross-fitted."""
        values = np.column_stack([features, _lengths(segments)])
        edges = tuple(_edges(column) for column in values.T)
        bins = _binned(values, edges)
        order = np.random.default_rng(seed).permutation(len(segments))
        halves = np.sort(order[::2]), np.sort(order[1::2])
        sides = [
            (_Texts.make(segments.take(own)), segments.take(other)) for own, other in (halves, halves[::-1])
        ]
        bits = [texts.bits(rows) for texts, rows in sides]
        source, target = (np.quantile(np.concatenate(side), 0.99) for side in zip(*bits, strict=True))
        limits = float(source), float(target)
        tokens = sum(texts.tokens(rows).sum(axis=0, dtype=np.int64) for texts, rows in sides)
        signs = sum(texts.signs(rows, limits).sum(axis=0, dtype=np.int64) for texts, rows in sides)
        texts = _Texts.make(segments)
        return cls(
            (*names, *LENGTHS), edges, _counted(bins), texts.words, texts.languages, limits,
            np.asarray(tokens), np.asarray(signs),
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Number of training rows."""
        return int(self.counts[0].sum())

    def rows(self, segments: Segments, features: FloatArray) -> "Rows":
        """Each segment's contribution to the counts."""
        values = np.column_stack([features, _lengths(segments)])
        texts = _Texts(self.words, self.languages)
        return Rows(_binned(values, self.edges), texts.tokens(segments), texts.signs(segments, self.limits))

    def report(self, counts: "Counts") -> DriftReport:
        n = counts.n
        shifts = sorted(
            (self._shift(i, counts.bins[i]) for i in range(len(self.names) if n else 0)),
            key=lambda shift: -shift.psi,
        )
        oov = {
            side: (
                _ratio(counts.tokens[at + 1], counts.tokens[at]),
                _ratio(self.tokens[at + 1], self.tokens[at]),
            )
            for side, at in (("source", 0), ("target", 2))
        }
        signs = {
            name: (_ratio(seen, n), _ratio(known, self.n))
            for name, seen, known in zip(SIGNS, counts.signs, self.signs, strict=True)
        }
        warnings = _warnings(shifts, oov, signs) if n >= FEWEST else ()
        return DriftReport(n, tuple(shifts), oov, signs, warnings)

    def _shift(self, i: int, observed: CountArray) -> FeatureShift:
        expected = self.counts[i]
        used = len(self.edges[i]) + 1
        kept = [*range(used), _BINS]
        psi = stability_index(expected[kept], observed[kept])
        # n m / (n + m) PSI is about chi-squared with one degree of freedom less than bins.
        bound = float(chdtri(used, 0.01 / len(self.names)))
        chance = bound * (1 / observed.sum() + 1 / expected.sum())
        undefined = _ratio(observed[-1], observed.sum()), _ratio(expected[-1], self.n)
        return FeatureShift(self.names[i], psi, chance, *undefined)

    def check_arrays(self) -> None:
        if len(self.edges) != len(self.names) or any(len(edges) >= _BINS for edges in self.edges):
            raise Damaged(f"{len(self.names)} names, but bins of {len(self.edges)}")
        typed("tokens", self.tokens, np.int64, 2 * len(SIDES))
        typed("signs", self.signs, np.int64, len(SIGNS))
        typed("counts", self.counts, np.int64, len(self.names), _BINS + 1)
        for side, words, language in zip(SIDES, self.words, self.languages, strict=True):
            typed(f"{side} words", words, np.uint32, None)
            typed(f"{side} costs", language.costs, np.int32, BUCKETS)

    def check(self, features: Sequence[str], location: Path) -> None:
        """Raises InputError if the profile belongs to a model with other features."""
        if self.names != (*features, *LENGTHS):
            raise InputError("the profile is that of other features", location=location, remedy=REMEDY)


@dataclass(frozen=True, eq=False)
class Rows:
    """Counts per segment: bins of values (n, names), tokens (n, 4) as in `Profile`, signs (n, 4)."""

    bins: NDArray[np.uint8]
    tokens: NDArray[np.int32]
    signs: NDArray[np.uint8]

    def packed(self) -> list[bytes]:
        n = len(self.bins)
        tokens = np.ascontiguousarray(self.tokens).view(np.uint8).reshape(n, -1)
        return [row.tobytes() for row in np.concatenate([tokens, self.signs, self.bins], axis=1)]

    @classmethod
    def unpacked(cls, rows: Sequence[bytes]) -> Self:
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        tokens = np.ascontiguousarray(table[:, :16]).view(np.int32)
        return cls(table[:, 20:], tokens, table[:, 16:20])

    def counts(self) -> "Counts":
        return Counts(
            len(self.bins),
            _counted(self.bins),
            self.tokens.sum(axis=0, dtype=np.int64),
            self.signs.sum(axis=0, dtype=np.int64),
        )


@dataclass(frozen=True, eq=False)
class Counts:
    """Sums over segments, as integers so that order and batches do not change them."""

    n: int
    bins: CountArray
    tokens: CountArray
    signs: CountArray

    def __add__(self, counts: "Counts") -> "Counts":
        return Counts(
            self.n + counts.n, self.bins + counts.bins, self.tokens + counts.tokens, self.signs + counts.signs
        )

    def to_json(self) -> dict[str, Any]:
        return {name: value if name == "n" else value.tolist() for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        arrays = {name: np.array(content[name], np.int64) for name in ("bins", "tokens", "signs")}
        return cls(n=content["n"], **arrays)


def stability_index(expected: CountArray, observed: CountArray) -> float:
    """Population stability index of histograms (k,), 1/2 added to counts: sum of (p - q) ln(p / q)."""
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (observed, expected))
    return float(((p - q) * np.log(p / q)).sum())


@dataclass(frozen=True, eq=False)
class _Texts:
    words: tuple[NDArray[np.uint32], NDArray[np.uint32]]
    languages: tuple[LanguageProfile, LanguageProfile]

    @classmethod
    def make(cls, segments: Segments) -> Self:
        words = _words(segments.source_tokens), _words(segments.target_tokens)
        return cls(words, (LanguageProfile.make(segments.source), LanguageProfile.make(segments.target)))

    def tokens(self, segments: Segments) -> NDArray[np.int32]:
        columns = []
        for tokens, known in zip((segments.source_tokens, segments.target_tokens), self.words, strict=True):
            unseen = ~np.isin(_hashes(tokens), known)
            counted = np.bincount(tokens.text_index, unseen[tokens.ids], len(tokens))
            columns += [tokens.lengths, counted]
        return np.column_stack(columns).astype(np.int32)

    def bits(self, segments: Segments) -> tuple[FloatArray, FloatArray]:
        return self.languages[0].bits(segments.source), self.languages[1].bits(segments.target)

    def signs(self, segments: Segments, limits: tuple[float, float]) -> NDArray[np.uint8]:
        source, target = self.bits(segments)
        crossed = self.languages[1].bits(segments.source), self.languages[0].bits(segments.target)
        alike = target > crossed[1]
        columns = [source > limits[0], target > limits[1], alike, alike & (source > crossed[0])]
        return np.column_stack(columns).astype(np.uint8)


def _warnings(
    shifts: Sequence[FeatureShift],
    oov: Mapping[str, tuple[float, float]],
    signs: Mapping[str, tuple[float, float]],
) -> tuple[str, ...]:
    warnings = []
    names = list(signs)
    swapped_share, swapped_usual = signs[names[-1]]
    for name, (share, known) in signs.items():
        # Swapped sides also look like wrong languages on both sides, so only the swap is reported.
        if share - known > SIGN_JUMP and (name == names[-1] or not swapped_share - swapped_usual > SIGN_JUMP):
            warnings.append(f"{name}: {percent(share, 0)} of the segments ({percent(known, 0)} in training)")
    for side, (share, known) in oov.items():
        if share - known > OOV_JUMP:
            warnings.append(
                f"{side} words never seen in training: {percent(share, 0)} of the tokens"
                f" ({percent(known, 0)} expected)"
            )
    moved = [shift for shift in shifts if shift.psi > max(MAJOR_PSI, shift.chance)]
    if moved:
        most = ", ".join(f"{shift.name} ({number(shift.psi, 2)})" for shift in moved[:5])
        warnings.append(f"{len(moved)} of {len(shifts)} features are distributed differently (PSI): {most}")
    return tuple(warnings)


def _lengths(segments: Segments) -> FloatArray:
    source, target = (
        np.array([len(t) for t in side], np.float64) for side in (segments.source, segments.target)
    )
    ratio = np.divide(target, source, out=np.full(len(source), np.nan), where=source > 0)
    return np.column_stack([source, target, ratio])


def _edges(values: FloatArray) -> tuple[float, ...]:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return ()
    deciles = np.quantile(defined, np.arange(1, _BINS) / _BINS, method="higher")
    if deciles[0] == deciles[-1]:  # nearly all rows have one value: bins below it, at it and above it
        return float(deciles[0]), float(np.nextafter(deciles[0], np.inf))
    return tuple(np.unique(deciles[deciles > defined.min()]).tolist())


def _binned(values: FloatArray, edges: Sequence[Sequence[float]]) -> NDArray[np.uint8]:
    bins = np.empty(values.shape, np.uint8)
    for i, column in enumerate(values.T):
        bins[:, i] = np.where(np.isnan(column), _BINS, np.searchsorted(edges[i], column, side="right"))
    return bins


def _counted(bins: NDArray[np.uint8]) -> CountArray:
    return np.stack([(bins == b).sum(axis=0) for b in range(_BINS + 1)], axis=1).astype(np.int64)


def _hashes(tokens: Tokens) -> NDArray[np.uint32]:
    return np.array([zlib.crc32(t.encode("utf-8", "surrogatepass")) for t in tokens.types], np.uint32)


def _words(tokens: Tokens) -> NDArray[np.uint32]:
    return np.unique(_hashes(tokens)[np.unique(tokens.ids)])


def _ratio(part: Any, total: Any) -> float:
    return float(part) / float(total) if total else 0.0
