"""Synthetic examples: words and gaps of our own translations, BAD if the reference differs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from features.basics.progress import Progress
from features.basics.threads import side_by_side
from features.comparisons.phrase_decoder import decode
from features.core.segments import Segments
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from features.word_level.columns import columns_in, concatenated
from features.word_level.labels import TokenLabels, error_rate, post_edit_labels
from features.word_level.lookups import PLACES, aligned_links
from features.word_level.pooling import SyntheticExamples
from features.word_level.tokens import TokenResources, TokenTable, describe
from features.word_level.two_sides import describe_sources, link_ends, projected

_CHUNK = 2000  # pairs translated and described at a time
# Columns that mean something else in other systems' translations: ours agree with our decoder, are
# lower-cased and have no second translation.
_OTHER = ("decoder_", "pseudo_", "back_", "capital")
# Keys by word class: k-means numbers classes anew in every bundle.
_CLASS = "class"


@dataclass(frozen=True, eq=False)
class Examples:
    table: TokenTable
    bad: TokenLabels
    source: SyntheticExamples

    @property
    def target(self) -> SyntheticExamples:
        names = shared_columns(self.table.word_names)
        columns = np.ascontiguousarray(self.table.words[:, columns_in(self.table.word_names, names)])
        rate = error_rate(self.bad, self.table.offsets)
        return SyntheticExamples(names, columns, self.bad.words, self.table.offsets, rate)


def examples(pairs: ParallelCorpus, resources: TokenResources, progress: Progress) -> Examples:
    """Columns and labels (`post_edit_labels` by the reference) of the tokens of our translations."""
    firsts = range(0, len(pairs), _CHUNK)
    parts = [pairs.take(np.arange(first, min(first + _CHUNK, len(pairs)))) for first in firsts]
    described = []
    progress("translating held-out pairs", 0, len(pairs))
    for first, part in zip(firsts, side_by_side(lambda part: _of_pairs(part, resources), parts), strict=True):
        described.append(part)
        progress("translating held-out pairs", min(first + _CHUNK, len(pairs)), len(pairs))
    tables, labels, sources = zip(*described, strict=True)
    return Examples(concatenated(tables), concatenated(labels), concatenated(sources))


def _of_pairs(
    pairs: ParallelCorpus, resources: TokenResources
) -> tuple[TokenTable, TokenLabels, SyntheticExamples]:
    languages = pairs.source_tokenizer.language, pairs.target_tokenizer.language
    tokenizers = [Tokenizer(language, "whitespace", normalise=False) for language in languages]
    source = _texts(pairs.source)
    tokens = tokenizers[0].tokens(source)
    decoded = decode(tokens, resources.phrase_table, resources.target_lm).tokens
    segments = Segments.from_columns({"source": source, "target": _texts(decoded)}, *tokenizers)
    bad = post_edit_labels(segments.target_tokens.lower(), pairs.target.lower())
    table = describe(segments, resources, frozenset(), decoder=False)
    links = aligned_links(segments, resources.aligner)
    described = describe_sources(segments, links, table, resources)
    names = shared_columns(described.names)
    flags = projected(bad.words, link_ends(links, segments), len(described.columns)).astype(np.bool_)
    rate = error_rate(bad, table.offsets)
    columns = np.ascontiguousarray(described.columns[:, columns_in(described.names, names)])
    return table, bad, SyntheticExamples(names, columns, flags, described.offsets, rate)


def shared_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that mean the same in anybody's translations: places and lengths do not.

    >>> shared_columns(("lm", "decoder_equal", "left_back_equal", "backward", "source_capital", "place"))
    ('lm', 'backward')
    >>> shared_columns(("target_place", "target_decoder_equal", "target_lm"))  # seen from a source word
    ('target_lm',)
    """
    places = {*PLACES, *(f"target_{name}" for name in PLACES)}
    return tuple(n for n in names if n not in places and not any(other in n for other in _OTHER))


def shared_keys(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if _CLASS not in name)


def _texts(tokens: Tokens) -> list[str]:
    return [" ".join(tokens.words(i)) for i in range(len(tokens))]
