"""Synthetic examples: words and gaps of our own translations, BAD where they differ from the reference."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from features._decoder import decode
from features._word_quality.labels import TokenLabels, post_edit_labels
from features._word_quality.memory import joined
from features._word_quality.surface import PLACES
from features._word_quality.tokens import Knowledge, TokenTable, describe
from features.core.corpus import ParallelCorpus
from features.core.progress import Progress
from features.core.segments import Segments
from features.core.tokenizer import Tokenizer
from features.core.tokens import Tokens

_CHUNK = 2000  # pairs translated and described at a time
# Columns that mean something else in other systems' translations: ours agree with our decoder, are
# lower-cased and have no second translation beside them.
_OTHER = ("decoder_", "pseudo_", "back_", "capital")
# Keys by word class: k-means numbers classes anew in every bundle.
_CLASS = "class"


def examples(
    pairs: ParallelCorpus, knowledge: Knowledge, progress: Progress
) -> tuple[TokenTable, TokenLabels]:
    """What is known of the tokens of our translations of the sources, and what is BAD in them.

    Labels are those of `post_edit_labels`, letters alike, the reference in the place of a post-edit.
    """
    tables, words, gaps = [], [], []
    for first in range(0, len(pairs), _CHUNK):
        progress("translating held-out pairs", first, len(pairs))
        part = pairs.take(np.arange(first, min(first + _CHUNK, len(pairs))))
        segments = _translated(part, knowledge)
        bad = post_edit_labels(segments.target_tokens.lower(), part.target.lower())
        tables.append(describe(segments, knowledge, frozenset(), decoder=False))
        words.append(bad.words)
        gaps.append(bad.gaps)
    return joined(tables), TokenLabels(np.concatenate(words), np.concatenate(gaps))


def shared_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that mean the same in anybody's translations.

    Places and lengths do not: how mistakes of ours depend on them says little of other systems' mistakes.

    >>> shared_columns(("lm", "decoder_equal", "left_back_equal", "backward", "source_capital", "place"))
    ('lm', 'backward')
    """
    return tuple(n for n in names if n not in PLACES and not any(other in n for other in _OTHER))


def shared_keys(names: Iterable[str]) -> tuple[str, ...]:
    """The keys that mean the same in every bundle."""
    return tuple(name for name in names if _CLASS not in name)


def _translated(pairs: ParallelCorpus, knowledge: Knowledge) -> Segments:
    """Our translations of the sources, tokenized as they are."""
    tokenizers = [Tokenizer(t.language, "whitespace", normalise=False) for t in _tokenizers(pairs)]
    source = _texts(pairs.source)
    tokens = tokenizers[0].tokens(source)
    decoded = decode(tokens, knowledge.phrase_table, knowledge.target_lm).tokens
    return Segments.from_columns({"source": source, "target": _texts(decoded)}, *tokenizers)


def _tokenizers(pairs: ParallelCorpus) -> tuple[Tokenizer, Tokenizer]:
    return pairs.source_tokenizer, pairs.target_tokenizer


def _texts(tokens: Tokens) -> list[str]:
    return [" ".join(tokens.words(i)) for i in range(len(tokens))]


def segment_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n_tokens,) the segment of each token."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
