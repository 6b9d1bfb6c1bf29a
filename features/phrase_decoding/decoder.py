"""A small phrase-based decoder: monotone beam search with swaps of neighbouring phrases."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.phrase_decoding.beam_search import options_of, translate
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.storage.compact import decoded, readable, unpacked
from features.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best translations found.

    tokens  the translations, lower-cased; words that the phrase table lacks are copied
    score   (n,) model score (natural logarithm, weighted) of each; 0 for an empty source
    """

    tokens: Tokens
    score: FloatArray


def decode(source: Tokens, table: PhraseTable, model: LanguageModel) -> Decoded:
    """Translates every source text; the language model is cut to trigrams. Source: Koehn et al. 2003, section
    2, without a future cost (all hypotheses that compete have translated the same words).
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
    options = options_of(distinct[unknown:], entries, trie)
    choices = np.where(rows >= 0, rows, np.where(np.arange(table.longest) == 0, len(options[0]) - 1, -1))
    while not translate(choices, options, copied, source.offsets, entries, trie, own, result, offsets, score):
        result = np.full((2 * len(result), 2), -1, np.int64)
    return Decoded(_as_tokens(result[: offsets[-1]], offsets, source, table), score)


def _trigrams(model: LanguageModel) -> tuple[Any, ...]:
    first, backoff = model.trie.first, readable(model.backoff)
    if model.order < 3:
        longest = (0, model.trie.sizes[-1])
        first, backoff = (
            np.pad(unpacked(first), longest, mode="edge"),
            np.pad(decoded(model.backoff), longest),
        )
    return model.trie.words, first, readable(model.log10), backoff


def _lm_words(table: PhraseTable, model: LanguageModel) -> NDArray[np.int32]:
    return model.vocabulary.lookup(table.target_vocabulary.words)


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
