"""A small phrase-based decoder: monotone beam search with swaps of neighbouring phrases."""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import UNCOUNTED, FloatArray
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.storage.compact import decoded, read_at, readable, unpacked
from features.text.ngram_tables import child
from features.text.tokens import BOS, EOS, UNK, Tokens

_OPTIONS = 6  # translations of a source span that are tried
_BEAM = 8  # hypotheses kept per number of source words translated
_SWAPPED = 2  # words of a span that may be swapped with its neighbour, translations of it that are tried
# Weights of natural logarithms: the language model, the four scores of a phrase pair, words, phrases, swaps
# and copied words. Chosen so that the output is nearest (BLEU) to the translations of WMT12, by Moses.
_LM, _PAIR, _WORD, _PHRASE, _SWAP, _COPY = 0.3, 0.2, 0.85, -0.2, -0.8, -6.0
_LN10 = math.log(10)


@numba.njit(**UNCOUNTED)
def _lm(
    context: Any, previous: int, last: int, word: int, words: Any, first: Any, log10: Any, backoff: Any
) -> float:
    weight = 0.0
    if context >= 0:
        node = child(words, read_at(first, context), read_at(first, context + 1), word)
        if node >= 0:
            return float(read_at(log10, node))
        weight = read_at(backoff, context)
    node = child(words, read_at(first, last), read_at(first, last + 1), word)
    if node >= 0:
        return float(read_at(log10, node) + weight)
    return float(read_at(log10, word) + read_at(backoff, last) + weight)


@numba.njit(**UNCOUNTED)
def _node(previous: int, last: int, model: Any) -> int:
    return int(child(model[0], read_at(model[1], previous), read_at(model[1], previous + 1), last))


@numba.njit(**UNCOUNTED)
def _phrase(begin: int, end: int, words: Any, model: Any) -> Any:
    total, second, node = 0.0, 0.0, -1
    for w in range(begin + 1, end):
        if w == begin + 1:
            second = _lm(-1, UNK, words[begin], words[w], *model)
        else:
            total += _lm(node, words[w - 2], words[w - 1], words[w], *model)
        node = _node(words[w - 1], words[w], model)
    return _LM * _LN10 * total + _WORD * (end - begin), second, node


@numba.njit(**UNCOUNTED)
def _span_options(row: int, entries: Any, model: Any, best: Any, scores: Any) -> int:
    offsets, target, forward, backward, forward_weight, backward_weight, starts, words = entries
    options = 0
    for e in range(offsets[row], offsets[row + 1]):
        score = (
            _PAIR * (math.log(forward[e]) + math.log(backward[e]) + forward_weight[e] + backward_weight[e])
            + _PHRASE
        )
        t = target[e]
        if options == _OPTIONS and score + _WORD * (starts[t + 1] - starts[t]) <= scores[options - 1]:
            continue  # the language model only lowers it
        inner, second, _ = _phrase(starts[t], starts[t + 1], words, model)
        first = _lm(-1, UNK, UNK, words[starts[t]], *model)
        estimate = score + inner + _LM * _LN10 * (first + second)
        place = min(options, _OPTIONS - 1)
        if options == _OPTIONS and estimate <= scores[place]:
            continue
        while place > 0 and scores[place - 1] < estimate:
            scores[place], best[place] = scores[place - 1], best[place - 1]
            place -= 1
        scores[place], best[place] = estimate, e
        options = min(options + 1, _OPTIONS)
    return options


@numba.njit(cache=True, nogil=True)
def options_of(rows: Any, entries: Any, model: Any) -> Any:
    """Entries (rows + 1, options) tried for distinct source phrases (-1: none, -2: copied word, last), their
    scores without the language model's first two words, and the nodes of their last two words.
    """
    shape = len(rows) + 1, _OPTIONS
    best, gain = np.full(shape, -1, np.int64), np.full(shape, -np.inf)
    second, node = np.zeros(shape), np.full(shape, -1, np.int64)
    best[-1, 0], gain[-1, 0] = -2, _COPY + _PHRASE + _WORD
    for r in range(len(rows)):
        scores = np.empty(_OPTIONS)
        options = _span_options(rows[r], entries, model, best[r], scores)
        for k in range(options):
            e = best[r, k]
            t = entries[1][e]
            inner, second[r, k], node[r, k] = _phrase(entries[6][t], entries[6][t + 1], entries[7], model)
            gain[r, k] = (
                inner
                + _PHRASE
                + _PAIR * (math.log(entries[2][e]) + math.log(entries[3][e]) + entries[4][e] + entries[5][e])
            )
    return best, gain, second, node


@numba.njit(**UNCOUNTED)
def _followed(
    score: float, lowest: float, node: int, previous: int, last: int, row: int, k: int, copied: int,
    options: Any, entries: Any, model: Any,
) -> Any:  # fmt: skip
    words, first, log10, backoff = model
    weight = _LM * _LN10
    begin, end, word = 0, 1, copied
    if options[0][row, k] >= 0:
        t = entries[1][options[0][row, k]]
        begin, end = entries[6][t], entries[6][t + 1]
        word = int(entries[7][begin])
    longer = -1
    if node >= 0:
        longer = child(words, read_at(first, node), read_at(first, node + 1), word)
        score += weight * (read_at(log10, longer) if longer >= 0 else read_at(backoff, node))
        if score <= lowest:
            return -np.inf, node, previous, last
    pair = child(words, read_at(first, last), read_at(first, last + 1), word)
    if longer < 0:
        score += weight * (
            read_at(log10, pair) if pair >= 0 else read_at(log10, word) + read_at(backoff, last)
        )
    if end - begin == 1:
        return score, pair, last, word
    if score <= lowest:
        return -np.inf, node, previous, last
    longer = -1
    if pair >= 0:
        longer = child(words, read_at(first, pair), read_at(first, pair + 1), entries[7][begin + 1])
    if longer >= 0:
        score += weight * read_at(log10, longer)
    else:
        score += weight * (options[2][row, k] + (read_at(backoff, pair) if pair >= 0 else 0.0))
    return score, options[3][row, k], np.int64(entries[7][end - 2]), np.int64(entries[7][end - 1])


@numba.njit(**UNCOUNTED)
def _place(stack: int, previous: int, last: int, scores: Any, states: Any) -> int:
    place = 0
    for slot in range(_BEAM):
        same = states[stack, slot, 1] == previous and states[stack, slot, 2] == last
        if same and scores[stack, slot] > -np.inf:
            return slot
        if scores[stack, slot] < scores[stack, place]:
            place = slot
    return place


@numba.njit(**UNCOUNTED)
def _keep(
    stack: int, score: float, state: Any, origin: Any, scores: Any, states: Any, origins: Any
) -> float:  # fmt: skip
    place = _place(stack, state[1], state[2], scores, states)
    if score > scores[stack, place]:
        scores[stack, place] = score
        for k in range(len(state)):
            states[stack, place, k] = state[k]
        for k in range(len(origin)):
            origins[stack, place, k] = origin[k]
    return float(_lowest(stack, scores))


@numba.njit(**UNCOUNTED)
def _lowest(stack: int, scores: Any) -> float:
    result = np.inf
    for slot in range(_BEAM):
        result = min(result, scores[stack, slot])
    return result


@numba.njit(cache=True, nogil=True)
def _search(
    rows: Any, copied: Any, options: Any, entries: Any, model: Any, scores: Any, states: Any, origins: Any
) -> None:
    scores[:] = -np.inf
    scores[0, 0] = 0.0
    states[0, 0, 0], states[0, 0, 1], states[0, 0, 2] = -1, UNK, BOS
    for stack in range(1, len(scores)):
        for m in range(min(rows.shape[1], stack)):
            _straight(stack, m, rows, copied, options, entries, model, scores, states, origins)
        for m in range(min(_SWAPPED, stack)):
            for n in range(min(_SWAPPED, stack - m - 1)):
                _swapped(stack, m, n, rows, copied, options, entries, model, scores, states, origins)


@numba.njit(**UNCOUNTED)
def _straight(
    stack: int, m: int, rows: Any, copied: Any, options: Any, entries: Any, model: Any, scores: Any,
    states: Any, origins: Any,
) -> None:  # fmt: skip
    i = stack - m - 1
    row = rows[i, m]
    if row < 0:
        return
    lowest = _lowest(stack, scores)
    for k in range(_OPTIONS):
        for slot in range(_BEAM):
            score = scores[i, slot] + options[1][row, k]  # -inf: no hypothesis, or no option
            if score <= lowest:
                continue
            state = states[i, slot, 0], states[i, slot, 1], states[i, slot, 2]
            score, node, previous, last = _followed(
                score, lowest, *state, row, k, copied[i], options, entries, model
            )
            if score <= lowest:
                continue
            origin = i, slot, i, m, k, -1, -1, -1
            lowest = _keep(stack, score, (node, previous, last), origin, scores, states, origins)


@numba.njit(**UNCOUNTED)
def _swapped(
    stack: int, m: int, n: int, rows: Any, copied: Any, options: Any, entries: Any, model: Any, scores: Any,
    states: Any, origins: Any,
) -> None:  # fmt: skip
    j = stack - n - 1
    i = j - m - 1
    row, other = rows[j, n], rows[i, m]
    if row < 0 or other < 0:
        return
    lowest = _lowest(stack, scores)
    most = max(options[1][other, 0], options[1][other, 1])
    for k in range(_SWAPPED):
        for slot in range(_BEAM):
            begun = scores[i, slot] + options[1][row, k] + _SWAP
            if begun + most <= lowest:
                continue
            state = states[i, slot, 0], states[i, slot, 1], states[i, slot, 2]
            begun, node, previous, last = _followed(
                begun, lowest - most, *state, row, k, copied[j], options, entries, model
            )
            state = node, previous, last
            for q in range(_SWAPPED):
                score = begun + options[1][other, q]
                if score <= lowest:
                    continue
                score, node, previous, last = _followed(
                    score, lowest, *state, other, q, copied[i], options, entries, model
                )
                if score <= lowest:
                    continue
                origin = i, slot, j, n, k, i, m, q
                lowest = _keep(stack, score, (node, previous, last), origin, scores, states, origins)


@numba.njit(cache=True, nogil=True)
def translate(
    rows: Any, options: Any, copied: Any, source_offsets: Any, entries: Any, model: Any, table_words: Any,
    result: Any, offsets: Any, score: Any,
) -> bool:  # fmt: skip
    """Writes (word of the table, copied source token) of all translations; False if there is no room."""
    end = 0
    for text in range(len(source_offsets) - 1):
        first, last = source_offsets[text], source_offsets[text + 1]
        length = last - first
        scores = np.empty((length + 1, _BEAM))
        states = np.zeros((length + 1, _BEAM, 3), np.int64)
        origins = np.zeros((length + 1, _BEAM, 8), np.int64)
        _search(rows[first:last], copied[first:last], options, entries, model, scores, states, origins)
        slot, highest = 0, -np.inf
        for k in range(_BEAM):
            if scores[length, k] > -np.inf:
                state = states[length, k]
                total = scores[length, k] + _LM * _LN10 * _lm(state[0], state[1], state[2], EOS, *model)
                if total > highest:
                    slot, highest = k, total
        score[text] = highest if length else 0.0
        size = _write(length, slot, first, rows, options[0], origins, entries, table_words, result[end:])
        if size < 0:
            return False
        end += size
        offsets[text + 1] = end
    return True


@numba.njit(cache=True, nogil=True)
def _write(
    stack: int, slot: int, first: int, rows: Any, best: Any, origins: Any, entries: Any, table_words: Any,
    result: Any,
) -> int:  # fmt: skip
    size = 0
    while stack > 0:
        origin = origins[stack, slot]
        for part in (5, 2):
            i, m, k = origin[part], origin[part + 1], origin[part + 2]
            if i < 0:
                continue
            entry = best[rows[first + i, m], k]
            t = entries[1][max(entry, 0)]
            size_of_phrase = table_words[1][t + 1] - table_words[1][t] if entry >= 0 else 0
            words = table_words[0][table_words[1][t] :][:size_of_phrase]
            if size + len(words) + 1 > len(result):
                return -1
            if entry == -2:
                result[size, 0], result[size, 1] = -1, first + i
                size += 1
            for w in range(len(words) - 1, -1, -1):
                result[size, 0], result[size, 1] = words[w], -1
                size += 1
        stack, slot = origin[0], origin[1]
    for w in range(size // 2):
        for part in range(2):
            result[w, part], result[size - 1 - w, part] = result[size - 1 - w, part], result[w, part]
    return size


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best translations, lower-cased, and their weighted model scores (n,), natural logarithms."""

    tokens: Tokens
    score: FloatArray


def decode(source: Tokens, table: PhraseTable, model: LanguageModel) -> Decoded:
    """Translates every source text; the language model is cut to trigrams.

    Source: Koehn et al. 2003, section 2, without a future cost (competing hypotheses cover the same words).
    """
    words = model.vocabulary.lookup(table.target_vocabulary.words)
    copied = source.lower().ids_in(model.vocabulary)
    result = np.full((4 * len(source.ids) + 16, 2), -1, np.int64)
    offsets, score = np.zeros(len(source) + 1, np.int64), np.zeros(len(source))
    distinct, rows = np.unique(table.phrases(source, "source"), return_inverse=True)
    unknown = int(len(distinct) > 0 and distinct[0] < 0)
    rows = rows.reshape(-1, table.longest) - unknown  # -1: no phrase of the table
    entries = (
        table.offsets, table.target, table.forward, table.backward, table.forward_weight,
        table.backward_weight, table.target_starts, words[table.target_words],
    )  # fmt: skip
    first, backoff = model.trie.first, readable(model.backoff)
    if model.order < 3:
        longest = (0, model.trie.sizes[-1])
        first, backoff = (
            np.pad(unpacked(first), longest, mode="edge"),
            np.pad(decoded(model.backoff), longest),
        )
    trie = model.trie.words, first, readable(model.log10), backoff
    own = table.target_words, table.target_starts
    options = options_of(distinct[unknown:], entries, trie)
    choices = np.where(rows >= 0, rows, np.where(np.arange(table.longest) == 0, len(options[0]) - 1, -1))
    while not translate(choices, options, copied, source.offsets, entries, trie, own, result, offsets, score):
        result = np.full((2 * len(result), 2), -1, np.int64)
    return Decoded(_as_tokens(result[: offsets[-1]], offsets, source, table), score)


def _as_tokens(
    words: NDArray[np.int64], offsets: NDArray[np.int64], source: Tokens, table: PhraseTable
) -> Tokens:
    lowered = source.lower()
    size = len(table.target_vocabulary)
    own = words[:, 0] >= 0
    codes = np.where(own, words[:, 0], size)
    codes[~own] += lowered.ids[words[~own, 1]]
    kinds, ids = np.unique(codes, return_inverse=True)
    names = [
        table.target_vocabulary.word(code) if code < size else lowered.types[code - size]
        for code in kinds.tolist()
    ]
    index: dict[str, int] = {}
    mapping = np.array([index.setdefault(name, len(index)) for name in names], np.int32)
    merged = mapping[ids] if len(mapping) else np.empty(0, np.int32)
    return Tokens(tuple(index), merged, offsets)
