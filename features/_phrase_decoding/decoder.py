"""A small phrase-based decoder: monotone beam search with swaps of neighbouring phrases."""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.array_types import FloatArray
from features.core.tokens import Tokens
from features.core.vocabulary import BOS, EOS, UNK
from features.resources._ngram_tables import child
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable

_OPTIONS = 6  # translations of a source span that are tried
_BEAM = 8  # hypotheses kept per number of source words translated
_SWAPPED = 2  # words of a span that may be swapped with its neighbour, translations of it that are tried
# Weights of natural logarithms: the language model, the four scores of a phrase pair, words, phrases, swaps
# and copied words. Chosen so that the output is nearest (BLEU) to the translations of WMT12, by Moses.
_LM, _PAIR, _WORD, _PHRASE, _SWAP, _COPY = 0.3, 0.2, 0.85, -0.2, -0.8, -6.0
_LN10 = math.log(10)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best translations found.

    tokens  the translations, lower-cased; words that the phrase table lacks are copied
    score   (n,) model score (natural logarithm, weighted) of each; 0 for an empty source
    """

    tokens: Tokens
    score: FloatArray


def decode(source: Tokens, table: PhraseTable, model: LanguageModel) -> Decoded:
    """Translates every source text; the language model is cut to trigrams.

    Source: Koehn et al. 2003, section 2, without a future cost (all hypotheses that compete have translated
    the same words).
    """
    words = _lm_words(table, model)
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
    trie = _trigrams(model)
    own = table.target_words, table.target_starts
    options = _row_options(distinct[unknown:], entries, trie)
    while not _decode(rows, *options, copied, source.offsets, entries, trie, own, result, offsets, score):
        result = np.full((2 * len(result), 2), -1, np.int64)
    return Decoded(_as_tokens(result[: offsets[-1]], offsets, source, table), score)


def _trigrams(model: LanguageModel) -> tuple[NDArray[Any], ...]:
    """The model's words, first children, log10 probabilities and backoff weights.

    The longest n-grams of a model below trigrams are given no children and the weight 1.
    """
    first, backoff = model.trie.first, model.backoff
    if model.order < 3:
        longest = (0, model.trie.sizes[-1])
        first, backoff = np.pad(first, longest, mode="edge"), np.pad(backoff, longest)
    return model.trie.words, first, model.log10, backoff


def _lm_words(table: PhraseTable, model: LanguageModel) -> NDArray[np.int32]:
    """Language model ids of the phrase table's target words."""
    return model.vocabulary.lookup(table.target_vocabulary.words)


def _as_tokens(
    words: NDArray[np.int64], offsets: NDArray[np.int64], source: Tokens, table: PhraseTable
) -> Tokens:
    """From (word of the table, copied source token), one of them -1."""
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


@numba.njit(cache=True, nogil=True)
def _lm(
    context: Any, before: int, last: int, word: int, words: Any, first: Any, log10: Any, backoff: Any
) -> float:
    """log10 p(word | before, last); `context` is the node of (before, last), -1 if there is none."""
    weight = 0.0
    if context >= 0:
        node = child(words, first[context], first[context + 1], word)
        if node >= 0:
            return float(log10[node])
        weight = backoff[context]
    node = child(words, first[last], first[last + 1], word)
    if node >= 0:
        return float(log10[node] + weight)
    return float(log10[word] + backoff[last] + weight)


@numba.njit(cache=True, nogil=True)
def _extended(state: Any, words: Any, model: Any) -> float:
    """Weighted log probability of the words after `state` (node, last but one, last), which it changes."""
    total = 0.0
    for word in words:
        total += _lm(state[0], state[1], state[2], word, *model)
        state[1], state[2] = state[2], word
        state[0] = child(model[0], model[1][state[1]], model[1][state[1] + 1], word)
    return _LM * _LN10 * total + _WORD * len(words)


@numba.njit(cache=True, nogil=True)
def _span_options(
    row: int, entries: Any, target: Any, forward: Any, backward: Any, forward_weight: Any,
    backward_weight: Any, starts: Any, words: Any, model: Any, best: Any, scores: Any,
) -> int:  # fmt: skip
    """The best entries of one source phrase by table scores and its own words' language model; how many."""
    options = 0
    state = np.empty(3, np.int64)
    for e in range(entries[row], entries[row + 1]):
        score = (
            _PAIR * (math.log(forward[e]) + math.log(backward[e]) + forward_weight[e] + backward_weight[e])
            + _PHRASE
        )
        t = target[e]
        if options == _OPTIONS and score + _WORD * (starts[t + 1] - starts[t]) <= scores[options - 1]:
            continue  # the language model only lowers it
        state[:] = -1, UNK, UNK
        estimate = score + _extended(state, words[starts[t] : starts[t + 1]], model)
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
def _row_options(rows: Any, entries: Any, model: Any) -> Any:
    """(rows, options) entries tried for distinct source phrases, -1: none; and their table scores."""
    best = np.full((len(rows), _OPTIONS), -1, np.int64)
    tables = np.full((len(rows), _OPTIONS), -np.inf)
    for r in range(len(rows)):
        scores = np.empty(_OPTIONS)
        options = _span_options(rows[r], *entries, model, best[r], scores)
        for k in range(options):
            e = best[r, k]
            tables[r, k] = _PHRASE + _PAIR * (
                math.log(entries[2][e]) + math.log(entries[3][e]) + entries[4][e] + entries[5][e]
            )
    return best, tables


@numba.njit(cache=True, nogil=True)
def _options(rows: Any, first: int, length: int, row_best: Any, row_tables: Any) -> Any:
    """(length, longest, options) entries tried for the words i .. i + m of a text, and their table scores.

    -1: none; -2: the word is copied, for a word without entries of its own.
    """
    longest = rows.shape[1]
    best = np.full((length, longest, _OPTIONS), -1, np.int64)
    tables = np.full((length, longest, _OPTIONS), -np.inf)
    for i in range(length):
        for m in range(min(longest, length - i)):
            row = rows[first + i, m]
            if row >= 0:
                best[i, m], tables[i, m] = row_best[row], row_tables[row]
        if best[i, 0, 0] < 0:
            best[i, 0, 0], tables[i, 0, 0] = -2, _COPY + _PHRASE
    return best, tables


@numba.njit(cache=True, nogil=True)
def _words_of(entry: int, copied: int, entries: Any) -> Any:
    """Language model ids of an option's words."""
    if entry == -2:
        return np.full(1, copied, np.int32)
    t = entries[1][entry]
    return entries[7][entries[6][t] : entries[6][t + 1]]


@numba.njit(cache=True, nogil=True)
def _keep(score: float, state: Any, origin: Any, scores: Any, states: Any, origins: Any) -> None:
    """Puts a hypothesis into its stack: in place of one with the same state, of a free one, of the worst."""
    place = 0
    for slot in range(_BEAM):
        if states[slot, 1] == state[1] and states[slot, 2] == state[2] and scores[slot] > -np.inf:
            place = slot
            break
        if scores[slot] < scores[place]:
            place = slot
    if score > scores[place]:
        scores[place], states[place], origins[place] = score, state, origin


@numba.njit(cache=True, nogil=True)
def _search(
    length: int, best: Any, tables: Any, copied: Any, entries: Any, model: Any, scores: Any, states: Any,
    origins: Any,
) -> None:  # fmt: skip
    """Fills the stacks 0 .. length; origins: (stack, slot, start, words, k) of up to two phrases."""
    state = np.empty(3, np.int64)
    origin = np.empty(8, np.int64)
    longest = best.shape[1]
    scores[:] = -np.inf
    scores[0, 0], states[0, 0] = 0.0, (-1, UNK, BOS)
    for i in range(length):
        for slot in range(_BEAM):
            if scores[i, slot] == -np.inf:
                continue
            for m in range(min(longest, length - i)):
                for k in range(_OPTIONS):
                    if best[i, m, k] == -1:
                        break
                    state[:] = states[i, slot]
                    score = scores[i, slot] + tables[i, m, k]
                    score += _extended(state, _words_of(best[i, m, k], copied[i], entries), model)
                    origin[:] = i, slot, i, m, k, -1, -1, -1
                    after = i + m + 1
                    _keep(score, state, origin, scores[after], states[after], origins[after])
            for m in range(min(_SWAPPED, length - i)):
                for n in range(min(_SWAPPED, length - i - m - 1)):
                    j = i + m + 1
                    for k in range(_SWAPPED):
                        if best[j, n, k] == -1:
                            break
                        for q in range(_SWAPPED):
                            if best[i, m, q] == -1:
                                break
                            state[:] = states[i, slot]
                            score = scores[i, slot] + tables[j, n, k] + tables[i, m, q] + _SWAP
                            score += _extended(state, _words_of(best[j, n, k], copied[j], entries), model)
                            score += _extended(state, _words_of(best[i, m, q], copied[i], entries), model)
                            origin[:] = i, slot, j, n, k, i, m, q
                            after = j + n + 1
                            _keep(score, state, origin, scores[after], states[after], origins[after])


@numba.njit(cache=True, nogil=True)
def _decode(
    rows: Any, row_best: Any, row_tables: Any, copied: Any, source_offsets: Any, entries: Any, model: Any,
    own: Any, result: Any, offsets: Any, score: Any,
) -> bool:  # fmt: skip
    """Writes (word of the table, copied source token) of all translations; False if there is no room."""
    end = 0
    for text in range(len(source_offsets) - 1):
        first, length = source_offsets[text], source_offsets[text + 1] - source_offsets[text]
        best, tables = _options(rows, first, length, row_best, row_tables)
        scores = np.empty((length + 1, _BEAM))
        states = np.zeros((length + 1, _BEAM, 3), np.int64)
        origins = np.zeros((length + 1, _BEAM, 8), np.int64)
        here = copied[first : first + length]
        _search(length, best, tables, here, entries, model, scores, states, origins)
        slot, highest = 0, -np.inf
        for k in range(_BEAM):
            if scores[length, k] > -np.inf:
                state = states[length, k]
                total = scores[length, k] + _LM * _LN10 * _lm(state[0], state[1], state[2], EOS, *model)
                if total > highest:
                    slot, highest = k, total
        score[text] = highest if length else 0.0
        size = _write(length, slot, first, best, origins, entries, own, result[end:])
        if size < 0:
            return False
        end += size
        offsets[text + 1] = end
    return True


@numba.njit(cache=True, nogil=True)
def _write(
    stack: int, slot: int, first: int, best: Any, origins: Any, entries: Any, own: Any, result: Any
) -> int:
    """The words of a hypothesis, traced back; how many, -1 if there is no room."""
    size = 0
    while stack > 0:
        origin = origins[stack, slot]
        for part in (5, 2):
            i, m, k = origin[part], origin[part + 1], origin[part + 2]
            if i < 0:
                continue
            entry = best[i, m, k]
            t = entries[1][max(entry, 0)]
            words = own[0][own[1][t] : own[1][t + 1]] if entry >= 0 else own[0][:0]
            if size + len(words) + 1 > len(result):
                return -1
            if entry == -2:
                result[size, 0], result[size, 1] = -1, first + i
                size += 1
            for w in range(len(words) - 1, -1, -1):
                result[size, 0], result[size, 1] = words[w], -1
                size += 1
        stack, slot = origin[0], origin[1]
    result[:size] = result[:size][::-1].copy()
    return size
