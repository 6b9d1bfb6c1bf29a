"""Shape of the word alignment between source and target, and confidence of the aligner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, row_index
from features.basics.numerals import natural
from features.core.columns import Column, ColumnExtractor, ColumnGroups, without_empty
from features.core.segments import Segments
from features.decoder_output.statistics import longest_run
from features.resources.aligner import Aligner, Posteriors, Symmetrization
from features.text.links import Links
from features.text.tokens import Tokens, ratio, segment_max, segment_mean, segment_min, segment_sum

Counts = NDArray[np.int64]

_SDLLW = "SDL Language Weaver at WMT12, LF11-LF17"
_UU = "Uppsala at WMT12, section 2.1"
_WLV = "WLV-SHEF at WMT12, section 3.2 (there the score of the best IBM Model 4 alignment)"
_OWN = "this project: shape of the word alignment"

UNALIGNED, ONE_TO_ONE, ONE_TO_MANY, MANY_TO_ONE, MANY_TO_MANY = range(5)


@dataclass(frozen=True, eq=False)
class AlignmentFeatures(ColumnExtractor):
    """Counts of link types, fertilities, crossings, jumps, distances, posteriors.

    links           `aligner`: the aligner's own links; `column`: those of the segments' column `alignment` (a
                    decoder's), which must fit the tokens
    symmetrization  of the aligner's links; the agreement and posterior features do not depend on it
    classes         which parts of speech agree: `universal` ones that are equal, or those of one of the
                    `coarse` classes of SDLLW, nouns with names and verbs with auxiliaries; others are equal

    The posteriors are those of single links, of each token its best one, and means over them: that of the
    best alignment as a whole is not among them. Everything is NaN if the source or the target has no tokens.
    Part-of-speech agreement is NaN if an annotation is missing, is not CoNLL-U, or has another number of
    words than the segment has tokens. Raises InputError for an unknown setting, and for links outside a
    segment.
    """

    plain: ClassVar[str] = "how the words of source and translation pair up"

    aligner: Aligner
    links: Literal["aligner", "column"] = "aligner"
    symmetrization: Symmetrization = "grow-diag-final-and"
    classes: Literal["universal", "coarse"] = "universal"

    def column_groups(self) -> ColumnGroups:
        return [(COLUMNS, self._batch)]

    def requires(self) -> tuple[str, ...]:
        return ("alignment",) if self.links == "column" else ()

    def _batch(self, segments: Segments) -> "_Batch":
        source, target = segments.source_tokens, segments.target_tokens
        posteriors = self.aligner.posteriors(source, target)
        if self.links == "column":
            links = Links.from_pharaoh(segments.require("alignment"), "column alignment")
            links.check(source.lengths, target.lengths, "column alignment")
        else:
            links = posteriors.links(self.symmetrization)
        return _Batch(segments, links, posteriors, self.classes == "coarse")

    def extract(self, segments: Segments) -> FloatArray:
        return without_empty(super().extract(segments), segments.source_tokens, segments.target_tokens)


@dataclass(frozen=True, eq=False)
class _Words:
    tokens: Tokens
    linked: Counts

    @cached_property
    def degrees(self) -> Counts:
        return np.bincount(self.linked, minlength=len(self.tokens.ids))

    def mean(self, values: NDArray[np.generic]) -> FloatArray:
        return segment_mean(values, self.tokens.offsets)


@dataclass(frozen=True, eq=False)
class _Batch:
    segments: Segments
    links: Links
    posteriors: Posteriors
    coarse: bool
    _kinds: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @cached_property
    def segment_of_link(self) -> Counts:
        return row_index(self.links.offsets)

    @cached_property
    def source(self) -> _Words:
        tokens = self.segments.source_tokens
        return _Words(tokens, tokens.offsets[self.segment_of_link] + self.links.source)

    @cached_property
    def target(self) -> _Words:
        tokens = self.segments.target_tokens
        return _Words(tokens, tokens.offsets[self.segment_of_link] + self.links.target)

    def side(self, name: str) -> _Words:
        return self.source if name == "source" else self.target

    def kinds(self, side: str) -> NDArray[np.int64]:
        if side not in self._kinds:
            own = self.side(side)
            other = self.side("target" if side == "source" else "source")
            most = np.zeros(len(own.degrees), np.int64)
            np.maximum.at(most, own.linked, other.degrees[other.linked])
            self._kinds[side] = np.select(
                [own.degrees == 0, (own.degrees == 1) & (most == 1), most == 1, own.degrees == 1],
                [UNALIGNED, ONE_TO_ONE, ONE_TO_MANY, MANY_TO_ONE],
                MANY_TO_MANY,
            )
        return self._kinds[side]

    @cached_property
    def single_links(self) -> FloatArray:
        return segment_sum(self.kinds("source") == ONE_TO_ONE, self.source.tokens.offsets)

    @cached_property
    def pairs_in_order(self) -> tuple[FloatArray, FloatArray]:
        crossing, pairs = np.zeros(len(self.links)), np.zeros(len(self.links))
        _crossings(self.links.offsets, self.links.source, self.links.target, crossing, pairs)
        return crossing, pairs

    @cached_property
    def jumps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        result = np.full((3, len(self.links)), np.nan)
        _jumps(self.links.offsets, self.links.source, self.links.target, self.target.tokens.lengths, result)
        return result[0], result[1], result[2]

    @cached_property
    def distances(self) -> FloatArray:
        k = self.segment_of_link
        vertical = (self.links.source + 0.5) / self.source.tokens.lengths[k]
        return np.asarray(np.abs(vertical - (self.links.target + 0.5) / self.target.tokens.lengths[k]))

    @cached_property
    def best(self) -> dict[str, FloatArray]:
        p = self.posteriors
        source = np.zeros(len(self.source.tokens.ids))
        target = np.zeros(len(self.target.tokens.ids))
        _maxima(p.offsets, p.lengths, p.widths, p.backward, p.forward, source, target)
        return {"source": source, "target": target}

    @cached_property
    def agreement(self) -> FloatArray:
        both, either = self.posteriors.links("intersection"), self.posteriors.links("union")
        return ratio(np.diff(both.offsets), np.diff(either.offsets))

    @cached_property
    def link_probability(self) -> FloatArray:
        k = self.segment_of_link
        cell = self.posteriors.offsets[k] + self.links.source * self.posteriors.widths[k] + self.links.target
        return self.posteriors.link_probability()[cell].astype(np.float64)

    @cached_property
    def agreeing(self) -> FloatArray:
        classes, parts = COARSE if self.coarse else {}, []
        for column, tokens in (
            (self.segments.annotation_source, self.source.tokens),
            (self.segments.annotation_target, self.target.tokens),
        ):
            tags, known = np.full(len(tokens.ids), "", dtype="U8"), np.zeros(len(tokens), bool)
            for k, text in enumerate(column or ()):
                rows = [line.split("\t") for line in text.split("\n") if line and not line.startswith("#")]
                words = [row[3] for row in rows if len(row) == 10 and natural(row[0]) is not None]
                if words and len(words) == tokens.lengths[k]:
                    places = slice(tokens.offsets[k], tokens.offsets[k + 1])
                    tags[places] = [classes.get(tag, tag) for tag in words]
                    known[k] = True
            parts.append((tags, known))
        (left, known_left), (right, known_right) = parts
        same = (self.kinds("source")[self.source.linked] == ONE_TO_ONE) & (
            left[self.source.linked] == right[self.target.linked]
        )
        return np.where(known_left & known_right, segment_sum(same, self.links.offsets), np.nan)


# One class: "noun, verb, adjective, adverb, preposition, determiner, number, and punctuation" (section 2.3).
COARSE: Mapping[str, str] = {"PROPN": "NOUN", "AUX": "VERB"}


@numba.njit(cache=True, nogil=True)
def _crossings(offsets: Any, source: Any, target: Any, crossing: Any, pairs: Any) -> None:
    for k in range(len(offsets) - 1):
        for a in range(offsets[k], offsets[k + 1]):
            for b in range(a + 1, offsets[k + 1]):
                if source[a] != source[b] and target[a] != target[b]:
                    pairs[k] += 1
                    crossing[k] += (source[a] < source[b]) != (target[a] < target[b])


@numba.njit(cache=True, nogil=True)
def _jumps(offsets: Any, source: Any, target: Any, widths: Any, result: Any) -> None:
    for k in range(len(offsets) - 1):
        total, count = np.zeros(widths[k]), np.zeros(widths[k])
        for e in range(offsets[k], offsets[k + 1]):
            total[target[e]] += source[e]
            count[target[e]] += 1
        before, steps, wide, widest, monotone = -1.0, 0, 0.0, 0.0, 0
        for j in range(widths[k]):
            if count[j] == 0:
                continue
            place = total[j] / count[j]
            if before >= 0:
                step = place - before
                steps += 1
                wide += abs(step - 1)
                widest = max(widest, abs(step - 1))
                monotone += 0 <= step <= 1
            before = place
        if steps > 0:
            result[0, k], result[1, k], result[2, k] = wide / steps, widest, monotone / steps


@numba.njit(cache=True, nogil=True)
def _maxima(
    offsets: Any, lengths: Any, widths: Any, backward: Any, forward: Any, source: Any, target: Any
) -> None:
    first, start = 0, 0
    for k in range(len(lengths)):
        e = offsets[k]
        for i in range(lengths[k]):
            for j in range(widths[k]):
                source[first + i] = max(source[first + i], backward[e])
                target[start + j] = max(target[start + j], forward[e])
                e += 1
        first += lengths[k]
        start += widths[k]


def _fertility_variance(batch: _Batch, side: str) -> FloatArray:
    words = batch.side(side)
    mean = words.mean(words.degrees)
    return words.mean((words.degrees - mean[words.tokens.text_index]) ** 2)


def _null(batch: _Batch, side: str) -> FloatArray:
    p = batch.posteriors
    values = p.backward_null if side == "source" else p.forward_null
    return batch.side(side).mean(values)


def _column(
    name: str, description: str, origin: str, unit: str, function: Callable[[_Batch], FloatArray]
) -> Column[_Batch]:
    return Column(f"alignment_{name}", description, origin, unit, function)


_KINDS = (
    ("unaligned", "unaligned", UNALIGNED),
    ("one_to_one", "in one-to-one links", ONE_TO_ONE),
    ("one_to_many", "linked to several words, each linked to it alone", ONE_TO_MANY),
    ("many_to_one", "sharing their one link's word with others", MANY_TO_ONE),
    ("many_to_many", "in many-to-many links", MANY_TO_MANY),
)


def _columns_of_side(side: str) -> list[Column[_Batch]]:
    return [
        _column(f"one_to_one_per_{side}", f"one-to-one links / {side} tokens", _SDLLW, "ratio",
            lambda g: ratio(g.single_links, g.side(side).tokens.lengths)),
        *(
            _column(f"{side}_{name}", f"share of {side} tokens {what}", _UU, "share",
                partial(lambda kind, g: g.side(side).mean(g.kinds(side) == kind), kind))
            for name, what, kind in _KINDS
        ),
        _column(f"{side}_fertility", f"mean links of a {side} token", _OWN, "links",
            lambda g: ratio(np.diff(g.links.offsets), g.side(side).tokens.lengths)),
        _column(f"{side}_fertility_highest", f"most links of a {side} token", _OWN, "links",
            lambda g: segment_max(g.side(side).degrees, g.side(side).tokens.offsets)),
        _column(f"{side}_fertility_variance", f"variance of the links of a {side} token", _OWN,
            "links squared", partial(_fertility_variance, side=side)),
        _column(f"{side}_longest_gap", f"longest run of unaligned {side} tokens", _OWN, "tokens",
            lambda g: longest_run(g.side(side).degrees == 0, g.side(side).tokens.offsets)),
        _column(f"{side}_posterior", f"mean over {side} tokens of the best posterior of a link", _WLV,
            "probability", lambda g: g.side(side).mean(g.best[side])),
        _column(f"{side}_posterior_log", f"mean over {side} tokens of log10 of that posterior, at least 1e-6",
            _WLV, "log10", lambda g: g.side(side).mean(np.log10(np.maximum(g.best[side], 1e-6)))),
        _column(f"{side}_posterior_lowest", f"lowest of the posteriors of a {side} token", _OWN,
            "probability", lambda g: segment_min(g.best[side], g.side(side).tokens.offsets)),
        _column(f"{side}_null", f"mean posterior of a {side} token being aligned to nothing", _OWN,
            "probability", partial(_null, side=side)),
        _column(f"agreement_per_{side}", f"one-to-one links of equal part of speech / {side} tokens", _SDLLW,
            "ratio", lambda g: ratio(g.agreeing, g.side(side).tokens.lengths)),
    ]  # fmt: skip


COLUMNS = (
    _column("one_to_one", "one-to-one links", _SDLLW, "links", lambda g: g.single_links),
    *_columns_of_side("source"),
    *_columns_of_side("target"),
    _column("crossings", "crossing pairs of links", _OWN, "pairs", lambda g: g.pairs_in_order[0]),
    _column("crossing_share", "share of pairs of links that cross; NaN without pairs", _OWN, "share",
        lambda g: ratio(*g.pairs_in_order)),
    _column("jump_width",
        "mean distance from a monotone step between aligned target tokens; NaN without steps", _OWN, "tokens",
        lambda g: g.jumps[0]),
    _column("jump_widest", "greatest distance from a monotone step; NaN without steps", _OWN, "tokens",
        lambda g: g.jumps[1]),
    _column("monotone_steps", "share of steps forward by at most one source token; NaN without steps", _OWN,
        "share", lambda g: g.jumps[2]),
    _column("diagonal_distance", "mean distance of the links from the diagonal; NaN without links",
        "Dyer et al. 2013 (fast_align), section 2", "share of the segment",
        lambda g: segment_mean(g.distances, g.links.offsets)),
    _column("link_probability",
        "mean over the links of the geometric mean of both posteriors; NaN without links", _WLV,
        "probability", lambda g: segment_mean(g.link_probability, g.links.offsets)),
    _column("link_probability_lowest", "lowest of the probabilities; NaN without links", _OWN, "probability",
        lambda g: segment_min(g.link_probability, g.links.offsets)),
    _column("directions_agree", "links of both directions / links of either; NaN without links",
        "Liang et al. 2006 (alignment by agreement)", "share", lambda g: g.agreement),
    _column("agreement", "one-to-one links of equal part of speech", _SDLLW, "links", lambda g: g.agreeing),
    _column("agreement_share",
        "one-to-one links of equal part of speech / one-to-one links; NaN without them", _SDLLW, "share",
        lambda g: ratio(g.agreeing, g.single_links)),
)  # fmt: skip
