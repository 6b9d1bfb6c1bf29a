"""Columns of target tokens: links, language models, lexicons, phrases, surface, other translations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import UNCOUNTED, row_index
from features.basics.distinct import distinct
from features.core.segments import Segments
from features.edits.ter import common_ids
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from features.text.links import Links
from features.text.ngram_tables import child
from features.text.tokens import Tokens, segment_mean, segment_min
from features.word_level.columns import (
    Columns,
    Floats,
    Longs,
    concatenated,
    places,
    prefixed,
    shifted,
    spread,
    values_at,
)
from features.word_level.labels import edit_costs, trace

_BATCH = 500  # segments aligned at a time: memory stays small


@dataclass(frozen=True, eq=False)
class TokenLinks:
    """The links of every target token of a batch; source tokens are numbered through the batch.

    best       (n_target_tokens,) the most probable (without probabilities: the middle) linked source token,
               -1 for an unaligned word
    fertility  (n_target_tokens,) links; source_fertility (n_source_tokens,)
    posterior  name -> (n_target_tokens,) posteriors, if the aligner gave the links
    """

    best: Longs
    fertility: Longs
    source_fertility: Longs
    links: Links
    posterior: Columns


def given_links(segments: Segments) -> TokenLinks:
    """From the column `alignment`; raises InputError for invalid lines and links outside the segment."""
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
    links = Links.concatenate([piece.links for piece in pieces])
    return replace(concatenated(pieces), best=np.concatenate(best), links=links)


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
    segment = row_index(links.offsets)
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
    span, crossings = np.zeros(target[-1], np.int64), np.zeros(target[-1], np.int64)
    _shapes(links.links.offsets, links.links.source, links.links.target, target, span, crossings)
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
        "segment_free": spread(segment_mean(~aligned, target), target),
        "segment_source_free": spread(segment_mean(free_source, source), target),
    }
    return columns


def spread_share(offsets: Longs) -> Floats:
    """Place (n_tokens,) of each token in its text, 0 (first) .. 1 (last); 0 if alone."""
    lengths = spread(np.diff(offsets), offsets)
    return np.asarray(places(offsets) / np.maximum(lengths - 1, 1), np.float64)


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


def language_columns(
    tokens: Tokens, forward: LanguageModel, backward: LanguageModel | None, counts: NgramCounts
) -> Columns:
    scores = forward.score(tokens)
    log10, matched = scores.token_log10, scores.token_matched.astype(np.float64)
    frequency = np.log10(1.0 + counts.counts(tokens, 1)[0])
    columns: Columns = {
        "lm": log10,
        "lm_next": shifted(log10, tokens.offsets, 1),
        "lm_previous": shifted(log10, tokens.offsets, -1),
        "matched": matched,
        "matched_next": shifted(matched, tokens.offsets, 1),
        "frequency": frequency,
        "frequency_next": shifted(frequency, tokens.offsets, 1),
        "frequency_previous": shifted(frequency, tokens.offsets, -1),
        "lm_mean": spread(segment_mean(log10, tokens.offsets), tokens.offsets),
        "lm_lowest": spread(segment_min(log10, tokens.offsets), tokens.offsets),
    }
    if backward is not None:
        scores = backward.score(tokens)
        columns |= {
            "backward": scores.token_log10,
            "backward_matched": scores.token_matched.astype(np.float64),
            "backward_previous": shifted(scores.token_log10, tokens.offsets, -1),
            "both": scores.token_log10 + log10,
        }
    return columns


def source_columns(
    segments: Segments, links: TokenLinks, model: LanguageModel, counts: NgramCounts
) -> Columns:
    tokens = segments.source_tokens
    columns = language_columns(tokens, model, None, counts)
    mean = segment_mean(model.score(tokens).token_log10, tokens.offsets)
    projected_columns = {
        name: values_at(column, links.best) for name, column in columns.items() if name != "lm_mean"
    }
    return prefixed("source_", {**projected_columns, "lm_mean": spread(mean, segments.target_tokens.offsets)})


_FLOOR = 1e-7


def translation_columns(
    segments: Segments, links: TokenLinks, forward: Lexicon, backward: Lexicon
) -> Columns:
    """Natural-language pairs: `forward` is t(target | source), `backward` t(source | target)."""
    source, target = segments.source_tokens, segments.target_tokens
    there = forward.score(source, target)
    back = backward.score(target, source)
    mean, highest = np.log10(there.probability), np.log10(there.maximum)
    source_highest = np.log10(back.maximum)
    given, words = source.lower().ids_in(forward.source), target.lower()
    linked = np.flatnonzero(links.best >= 0)
    partners = links.best[linked]
    own, other = np.full((2, len(links.best)), np.nan)
    t = forward.probability(given[partners], words.ids_in(forward.target)[linked])
    own[linked] = np.log10(np.maximum(t, _FLOOR))
    t = backward.probability(
        words.ids_in(backward.source)[linked], source.lower().ids_in(backward.target)[partners]
    )
    other[linked] = np.log10(np.maximum(t, _FLOOR))
    return {
        "ibm_mean": mean,
        "ibm_highest": highest,
        "ibm_highest_next": shifted(highest, target.offsets, 1),
        "ibm_highest_previous": shifted(highest, target.offsets, -1),
        "ibm_pair": own,
        "ibm_pair_back": other,
        "ibm_source_highest": values_at(source_highest, links.best),
        "ibm_entropy": values_at(forward.entropies[given], links.best),
        "ibm_choices": values_at(forward.translations_above(0.05)[given], links.best),
        "ibm_segment": spread(segment_mean(highest, target.offsets), target.offsets),
        "ibm_source_segment": spread(segment_mean(source_highest, source.offsets), target.offsets),
    }


def tuple_columns(segments: Segments, aligner: Aligner, model: TupleLM) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    scores = model.score(source, target, aligner.align(source, target, "source-target", batch=500))
    log10, matched = scores.token_log10, scores.token_matched.astype(np.float64)
    return {
        "tuple": log10,
        "tuple_matched": matched,
        "tuple_next": shifted(log10, target.offsets, 1),
        "tuple_matched_next": shifted(matched, target.offsets, 1),
    }


_NAMES = ("target", "source", "pairs", "forward", "backward", "monolingual", "weight")


def phrase_columns(segments: Segments, table: PhraseTable) -> Columns:
    """Phrase pairs whose two sides both occur in the segment, by the target words they cover.

    target       words of the longest target side that covers the word (0: none)
    source       words of the longest source side among the pairs that cover it
    pairs        log of 1 + pairs that cover it
    forward      highest log p(target phrase | source phrase) among them; NaN if there is none
    backward     highest log p(source phrase | target phrase)
    weight       highest log lexical weight per word, of the target given the source
    monolingual  words of the longest phrase of the table that covers it, with any translation
    """
    source, target = segments.source_tokens, segments.target_tokens
    values = np.zeros((len(target.ids), len(_NAMES)))
    values[:, [3, 4, 6]] = -np.inf
    sides = (table.phrases(source, "source"), source.offsets, table.phrases(target, "target"), target.offsets)
    _cover(sides, (table.offsets, table.target, table.forward, table.backward, table.forward_weight), values)
    values[np.isinf(values)] = np.nan
    values[:, 2] = np.log1p(values[:, 2])
    columns: Columns = {name: values[:, k] for k, name in enumerate(_NAMES)}
    covered = columns["target"]
    return prefixed(
        "phrase_",
        {
            **columns,
            "target_next": shifted(covered, target.offsets, 1),
            "target_previous": shifted(covered, target.offsets, -1),
            "segment": spread(segment_mean(covered, target.offsets), target.offsets),
        },
    )


@numba.njit(**UNCOUNTED)
def _cover(sides: Any, table: Any, values: Any) -> None:
    source, source_offsets, target, target_offsets = sides
    rows, columns, forward, backward, weight = table
    longest = source.shape[1]
    for k in range(len(source_offsets) - 1):
        for j in range(target_offsets[k], target_offsets[k + 1]):
            for n in range(longest):
                phrase = target[j, n]
                if phrase < 0:
                    continue
                for word in range(j, j + n + 1):
                    values[word, 5] = max(values[word, 5], n + 1)
                for i in range(source_offsets[k], source_offsets[k + 1]):
                    for m in range(longest):
                        row = source[i, m]
                        if row < 0:
                            continue
                        entry = child(columns, rows[row], rows[row + 1], phrase)
                        if entry < 0:
                            continue
                        there, back = np.log(forward[entry]), np.log(backward[entry])
                        for word in range(j, j + n + 1):
                            values[word, 0] = max(values[word, 0], n + 1)
                            values[word, 1] = max(values[word, 1], m + 1)
                            values[word, 2] += 1
                            values[word, 3] = max(values[word, 3], there)
                            values[word, 4] = max(values[word, 4], back)
                            values[word, 6] = max(values[word, 6], weight[entry] / (n + 1))


_OF_WORD: dict[str, Callable[[str], float]] = {
    "length": len,
    "punctuation": lambda word: not any(c.isalnum() for c in word),
    "digit": lambda word: any(c.isdigit() for c in word),
    "capital": lambda word: word[:1].isupper(),
}
# Properties of the text rather than of the word.
PLACES = ("place", "place_from_end", "target_tokens", "source_tokens", "tokens_ratio")


def surface_columns(segments: Segments, links: TokenLinks) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    own, other = _words(target), _words(source)
    lengths, offsets = source.lengths.astype(np.float64), target.offsets
    place, target_tokens = places(offsets), spread(target.lengths, offsets)
    return {
        **own,
        **prefixed("source_", {name: values_at(column, links.best) for name, column in other.items()}),
        "copied": _copied(source, target),
        "place": place,
        "place_from_end": target_tokens - 1 - place,
        "target_tokens": target_tokens,
        "source_tokens": spread(lengths, offsets),
        "tokens_ratio": spread(target.lengths / np.maximum(lengths, 1), offsets),
        "repeated": _repeated(target),
    }


def _words(tokens: Tokens) -> Columns:
    return {
        name: np.array([of(word) for word in tokens.types], np.float64)[tokens.ids]
        if len(tokens.types)
        else np.empty(0)
        for name, of in _OF_WORD.items()
    }


def _copied(source: Tokens, target: Tokens) -> NDArray[Any]:
    left, right = source.lower(), target.lower()
    index = {word: i for i, word in enumerate(left.types)}
    size = len(left.types) + 1
    mapping = np.array([index.get(word, size - 1) for word in right.types], np.int64)
    if not len(mapping):
        return np.empty(0)
    there = distinct(left.text_index * size + left.ids)
    wanted = right.text_index * size + mapping[right.ids]
    return np.isin(wanted, there).astype(np.float64)


def _repeated(tokens: Tokens) -> NDArray[Any]:
    lowered = tokens.lower()
    key = lowered.text_index * max(len(lowered.types), 1) + lowered.ids
    _, index, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[index] - 1, np.float64)


_BEGINNING = 4  # letters: enough for most stems


def agreement_columns(prefix: str, target: Tokens, translation: Tokens) -> Columns:
    """Every target word against another translation, letters alike; NaN if that is empty.

    there     the other has the word
    stem      it has a word that begins with the same letters
    equal     the word is opposite itself in a cheapest edit (no shifts)
    inserted  words of the other that the edit inserts before the word
    order     longest n-gram (up to 4) ending in the word that the other has
    segment   share of words of the segment that the other has
    """
    left_ids, right_ids = common_ids(target.lower(), translation.lower())
    stems = tuple(common_ids(_beginnings(target), _beginnings(translation)))
    values = np.full((len(left_ids), 5), np.nan)
    _compare((left_ids, right_ids), stems, (target.offsets, translation.offsets), values)
    names = ("there", "stem", "equal", "inserted", "order")
    columns: Columns = {name: values[:, k] for k, name in enumerate(names)}
    equal = columns["equal"]
    neighbours: Columns = {
        "equal_next": shifted(equal, target.offsets, 1),
        "equal_previous": shifted(equal, target.offsets, -1),
        "segment": segment_mean(columns["there"], target.offsets)[target.text_index],
        "segment_equal": segment_mean(equal, target.offsets)[target.text_index],
    }
    return prefixed(prefix, {**columns, **neighbours})


def _beginnings(tokens: Tokens) -> Tokens:
    return Tokens(tuple(t.lower()[:_BEGINNING] for t in tokens.types), tokens.ids, tokens.offsets).lower()


@numba.njit(cache=True, nogil=True)
def _compare(ids: Any, stems: Any, offsets: Any, values: Any) -> None:
    (left_ids, right_ids), (left_stems, right_stems), (left_offsets, right_offsets) = ids, stems, offsets
    for k in range(len(left_offsets) - 1):
        start, end = left_offsets[k], left_offsets[k + 1]
        first, last = right_offsets[k], right_offsets[k + 1]
        if first == last:
            continue
        words, translation = left_ids[start:end], right_ids[first:last]
        partner = np.empty(len(words), np.int64)
        trace(words, translation, edit_costs(words, translation), partner)
        done = 0
        for i in range(len(words)):
            values[start + i, 0] = _longest(words, i, translation, 1)
            values[start + i, 1] = _longest(left_stems[start:end], i, right_stems[first:last], 1)
            values[start + i, 2] = partner[i] >= 0 and words[i] == translation[partner[i]]
            values[start + i, 3] = max(partner[i] - done, 0)
            values[start + i, 4] = _longest(words, i, translation, 4)
            done = max(done, partner[i] + 1)


@numba.njit(cache=True, nogil=True)
def _longest(words: Any, i: int, translation: Any, limit: int) -> int:
    best = 0
    for j in range(len(translation)):
        run = 0
        while run < limit and run <= min(i, j) and words[i - run] == translation[j - run]:
            run += 1
        best = max(best, run)
    return best
