"""Links: where the words of a batch are aligned, and the columns that follow from it."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.text.links import Links
from features.word_level.columns import Columns, Floats, Longs, places, shifted, spread, values_at

_BATCH = 500  # segments aligned at a time: memory stays small


@dataclass(frozen=True, eq=False)
class TokenLinks:
    """The links of every target token of a batch; source tokens are numbered through the batch.

    best       (n_target_tokens,) the most probable (without probabilities: the middle) linked source token,
               -1 for an unaligned word
    fertility  (n_target_tokens,) links
    source_fertility  (n_source_tokens,) links
    links      all links
    posterior  name -> (n_target_tokens,) posteriors, where the aligner gave the links
    """

    best: Longs
    fertility: Longs
    source_fertility: Longs
    links: Links
    posterior: Columns


def given_links(segments: Segments) -> TokenLinks:
    """From the column `alignment`. Raises InputError for what is no Pharaoh line or points outside its
    segment.
    """
    links = Links.from_pharaoh(segments.require("alignment"), "alignment")
    links.check(segments.source_tokens.lengths, segments.target_tokens.lengths, "alignment")
    unknown = np.full(len(segments.target_tokens.ids), np.nan)
    names = ("posterior", "forward", "backward", "null")
    return _token_links(segments, links, None, {name: unknown for name in names})


def aligned_links(segments: Segments, aligner: Aligner) -> TokenLinks:
    pieces = [
        _aligned(segments.take(np.arange(first, min(first + _BATCH, len(segments)))), aligner)
        for first in range(0, max(len(segments), 1), _BATCH)
    ]
    starts = np.cumsum([0, *(len(piece.source_fertility) for piece in pieces)])
    best = [np.where(p.best >= 0, p.best + start, -1) for p, start in zip(pieces, starts[:-1], strict=True)]
    return TokenLinks(
        np.concatenate(best),
        np.concatenate([piece.fertility for piece in pieces]),
        np.concatenate([piece.source_fertility for piece in pieces]),
        Links.concatenate([piece.links for piece in pieces]),
        {name: np.concatenate([p.posterior[name] for p in pieces]) for name in pieces[0].posterior},
    )


def _aligned(segments: Segments, aligner: Aligner) -> TokenLinks:
    posteriors = aligner.posteriors(segments.source_tokens, segments.target_tokens)
    size = len(segments.target_tokens.ids)
    best, values = np.full(size, -1, np.int64), np.zeros((size, 2))
    cells = posteriors.offsets, posteriors.lengths, posteriors.widths
    _most_probable(*cells, posteriors.forward, posteriors.backward, best, values)
    columns: Columns = {
        "posterior": np.sqrt(values[:, 0] * values[:, 1]),
        "forward": values[:, 0],
        "backward": values[:, 1],
        "null": posteriors.forward_null.astype(np.float64),
    }
    return _token_links(segments, posteriors.links(), best, columns)


def _token_links(segments: Segments, links: Links, best: Longs | None, posterior: Columns) -> TokenLinks:
    sources, targets = segments.source_tokens, segments.target_tokens
    segment = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    source, target = sources.offsets[segment] + links.source, targets.offsets[segment] + links.target
    fertility = np.bincount(target, minlength=len(targets.ids))
    if best is None:
        total = np.bincount(target, weights=source, minlength=len(targets.ids))
        best = np.floor(total / np.maximum(fertility, 1)).astype(np.int64)
    return TokenLinks(
        np.where(fertility > 0, best, -1),
        fertility,
        np.bincount(source, minlength=len(sources.ids)),
        links,
        posterior,
    )


def link_columns(links: TokenLinks, segments: Segments) -> Columns:
    source, target = segments.source_tokens.offsets, segments.target_tokens.offsets
    there = values_at(places(source), links.best)
    position = spread_share(target)
    aligned = links.fertility > 0
    span, crossings = _shape(links.links, target)
    free_source = (links.source_fertility == 0).astype(np.float64)
    columns: Columns = {
        **links.posterior,
        "fertility": links.fertility,
        "source_fertility": values_at(links.source_fertility, links.best),
        "span": span,
        "crossings": crossings,
        "diagonal": np.abs(values_at(spread_share(source), links.best) - position),
        "jump_left": there - shifted(there, target, -1),
        "jump_right": shifted(there, target, 1) - there,
        "free_left": shifted(~aligned, target, -1),
        "free_right": shifted(~aligned, target, 1),
        "source_free_left": values_at(shifted(free_source, source, -1), links.best),
        "source_free_right": values_at(shifted(free_source, source, 1), links.best),
        "segment_free": _mean(~aligned, target),
        "segment_source_free": _to_target(free_source, source, target),
    }
    return columns


def spread_share(offsets: Longs) -> Floats:
    """(n_tokens,) place of each token in its text, 0 (first) .. 1 (last); 0 if alone."""
    lengths = spread(np.diff(offsets), offsets)
    return np.asarray(places(offsets) / np.maximum(lengths - 1, 1), np.float64)


def _mean(values: Any, offsets: Longs) -> Floats:
    return _to_target(values, offsets, offsets)


def _to_target(values: Any, offsets: Longs, target: Longs) -> Floats:
    n = len(offsets) - 1
    totals = np.bincount(np.repeat(np.arange(n), np.diff(offsets)), weights=values, minlength=n)
    sizes = np.diff(offsets)
    means = np.where(sizes > 0, totals / np.maximum(sizes, 1), np.nan)
    return np.asarray(spread(means, target), np.float64)


def _shape(links: Links, offsets: Longs) -> tuple[Longs, Longs]:
    span, crossings = np.zeros(offsets[-1], np.int64), np.zeros(offsets[-1], np.int64)
    _shapes(links.offsets, links.source, links.target, offsets, span, crossings)
    return span, crossings


@numba.njit(cache=True, nogil=True)
def _most_probable(
    offsets: Any, lengths: Any, widths: Any, forward: Any, backward: Any, best: Any, values: Any
) -> None:
    first_source = first_target = 0
    for k in range(len(lengths)):
        width = widths[k]
        for j in range(width):
            highest = -1.0
            for i in range(lengths[k]):
                cell = offsets[k] + i * width + j
                product = forward[cell] * backward[cell]
                if product > highest:
                    highest, best[first_target + j] = product, first_source + i
                    values[first_target + j, 0] = forward[cell]
                    values[first_target + j, 1] = backward[cell]
        first_source += lengths[k]
        first_target += width


@numba.njit(cache=True, nogil=True)
def _shapes(link_offsets: Any, source: Any, target: Any, offsets: Any, span: Any, crossings: Any) -> None:
    for k in range(len(link_offsets) - 1):
        first, last = link_offsets[k], link_offsets[k + 1]
        low = np.full(offsets[k + 1] - offsets[k], 1 << 30, np.int64)
        high = np.full(offsets[k + 1] - offsets[k], -1, np.int64)
        for e in range(first, last):
            low[target[e]] = min(low[target[e]], source[e])
            high[target[e]] = max(high[target[e]], source[e])
            for f in range(first, e):
                if (source[e] - source[f]) * (target[e] - target[f]) < 0:
                    crossings[offsets[k] + target[e]] += 1
                    crossings[offsets[k] + target[f]] += 1
        for j in range(len(low)):
            if high[j] >= 0:
                span[offsets[k] + j] = high[j] - low[j]
