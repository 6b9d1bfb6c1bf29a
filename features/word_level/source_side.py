"""The source side: columns of each source token and of its linked target token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.core.segments import Segments
from features.text.tokens import rows_of, segment_mean
from features.word_level.columns import (
    Columns,
    Floats,
    Longs,
    matrix,
    offsets_together,
    places,
    prefixed,
    shifted,
    spread,
    values_at,
)
from features.word_level.keys import Keys, hashes, key_at, neighbour_keys, neighbours, paired
from features.word_level.labels import Bad
from features.word_level.links import TokenLinks, spread_share
from features.word_level.lookups import _copied, _repeated, _words, language_columns
from features.word_level.model import Inputs
from features.word_level.tokens import TokenResources, TokenTable

# Columns of target tokens of which a source token also sees the lowest among all that it is linked with ...
_LOWEST = (
    "decoder_sum",
    "decoder_minimum",
    "decoder_residual",
    "lm",
    "ibm_pair",
    "ibm_pair_back",
    "posterior",
)
# ... and those that it also sees of its neighbours' target tokens.
_BESIDE = ("decoder_sum", "decoder_residual", "decoder_sum_lowest", "ibm_pair", "fertility")
_SUFFIX = 3  # letters


@dataclass(frozen=True, eq=False)
class SourceTable:
    """n segments: their source tokens.

    names, columns  (n_tokens, k) NaN: undefined
    keys            name -> (n_tokens,) keys for target encodings
    rows            (n_tokens, 4) rows of word vectors: the word, the one before, the one after (source), the
                    linked one (target)
    links           (n_links,) ends of the links, numbered through the batch: source token, target token; None
                    for a table put together of several
    offsets         (n + 1,) tokens
    """

    names: tuple[str, ...]
    columns: NDArray[np.float32]
    keys: Mapping[str, Keys]
    rows: NDArray[np.int32]
    links: tuple[Longs, Longs] | None
    offsets: Longs

    def inputs(self, resources: TokenResources) -> Inputs:
        source, target = resources.source_vectors.vectors, resources.target_vectors.vectors
        own = [source[rows] for rows in self.rows[:, :3].T]
        return Inputs(self.columns, self.keys, np.hstack([*own, target[self.rows[:, 3]]]))

    def take(self, rows: Longs) -> "SourceTable":
        offsets, tokens = rows_of(self.offsets, rows)
        keys = {name: values[tokens] for name, values in self.keys.items()}
        return SourceTable(self.names, self.columns[tokens], keys, self.rows[tokens], None, offsets)


def describe_sources(
    segments: Segments, links: TokenLinks, target: TokenTable, resources: TokenResources
) -> SourceTable:
    """The source table of a batch; `target` is the table of its target tokens. Its columns are seen through
    links.
    """
    source = segments.source_tokens
    ends = link_ends(links, segments)
    best = linked_target(links, *ends, len(source.ids))
    columns = {
        **_source_columns(segments, links, resources),
        **prefixed("target_", _linked(target, best, ends, source.offsets)),
    }
    rows = resources.source_vectors.ids(source)
    target_rows = resources.target_vectors.ids(segments.target_tokens)
    kinds = resources.source_vectors.classes[rows].astype(np.uint64)
    target_kinds = resources.target_vectors.classes[target_rows].astype(np.uint64)
    before, after = (np.nan_to_num(shifted(rows, source.offsets, by)).astype(np.int32) for by in (-1, 1))
    aligned = np.nan_to_num(values_at(target_rows, best)).astype(np.int32)
    return SourceTable(
        tuple(columns),
        matrix(columns, len(rows)),
        source_keys(segments, best, kinds, key_at(target_kinds, best)),
        np.column_stack([rows, before, after, aligned]),
        ends,
        np.asarray(source.offsets),
    )


def joined_sources(pieces: list[SourceTable]) -> SourceTable:
    first = pieces[0]
    return SourceTable(
        first.names,
        np.concatenate([piece.columns for piece in pieces]),
        {name: np.concatenate([piece.keys[name] for piece in pieces]) for name in first.keys},
        np.concatenate([piece.rows for piece in pieces]),
        None,
        offsets_together([piece.offsets for piece in pieces]),
    )


def source_keys(segments: Segments, best: Longs, kinds: Keys, target_kinds: Keys) -> dict[str, Keys]:
    """name -> (n_source_tokens,) keys: word, linked target word, their neighbours.

    best                 (n_source_tokens,) the linked target token, -1: none
    kinds, target_kinds  (n_source_tokens,) classes of the word and of the linked one
    """
    source, target = segments.source_tokens, segments.target_tokens
    word, suffix, translated = hashes(source), hashes(source, _SUFFIX), hashes(target)
    aligned = key_at(translated, best)
    return {
        "word": word,
        "target": aligned,
        **neighbours(word, suffix, aligned, source.offsets),
        "word_target_before": paired(word, key_at(neighbour_keys(translated, target.offsets, -1), best)),
        "word_target_after": paired(word, key_at(neighbour_keys(translated, target.offsets, 1), best)),
        "class": kinds,
        "class_pair": paired(kinds, target_kinds),
        "class_before": paired(neighbour_keys(kinds, source.offsets, -1), kinds),
        "class_after": paired(kinds, neighbour_keys(kinds, source.offsets, 1)),
    }


def linked_target(links: TokenLinks, source: Longs, target: Longs, size: int) -> Longs:
    """(n_source_tokens,) most probable linked target token; -1: none. Tokens are numbered through the
    batch.
    """
    mutual = links.best[target] == source
    score = mutual + np.nan_to_num(links.posterior["posterior"][target])
    order = np.lexsort((score, source))
    result = np.full(size, -1, np.int64)
    result[source[order]] = target[order]  # the last assignment, that is the highest score, stays
    return result


def projected(bad: Bad, links: tuple[Longs, Longs], size: int) -> Bad:
    """(n_source_tokens,) BAD if a linked target token is BAD. Probabilities are those of the most probable of
    them. A token without links is OK: so are 87 % (en-de) and 66 % (ro-en) of those in the source tags of
    MLQE-PE dev.

    >>> projected(np.array([True, False]), (np.array([0, 0, 1]), np.array([0, 1, 1])), 3).tolist()
    [True, False, False]
    """
    source, target = links
    result: NDArray[Any] = np.zeros(size, bad.dtype)
    np.maximum.at(result, source, bad[target])
    return result


def _source_columns(segments: Segments, links: TokenLinks, resources: TokenResources) -> Columns:
    source = segments.source_tokens
    free = links.source_fertility == 0
    return {
        **language_columns(source, resources.source_lm5, None, resources.source_ngrams),
        **_words(source),
        "copied": _copied(segments.target_tokens, source),
        "repeated": _repeated(source),
        "place": places(source.offsets),
        "position": spread_share(source.offsets),
        "fertility": links.source_fertility,
        "free_left": shifted(free, source.offsets, -1),
        "free_right": shifted(free, source.offsets, 1),
        **_lexicon(segments, resources),
    }


def _lexicon(segments: Segments, resources: TokenResources) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    scores = resources.lexicon_target_to_source.score(target, source)
    forward = resources.lexicon_source_to_target
    given = source.lower().ids_in(forward.source)
    highest = np.log10(scores.maximum)
    return {
        "ibm_mean": np.log10(scores.probability),
        "ibm_highest": highest,
        "ibm_highest_next": shifted(highest, source.offsets, 1),
        "ibm_highest_previous": shifted(highest, source.offsets, -1),
        "ibm_entropy": forward.entropies[given],
        "ibm_choices": forward.translations_above(0.05)[given],
        "ibm_segment": spread(segment_mean(highest, source.offsets), source.offsets),
    }


def _linked(target: TokenTable, best: Longs, ends: tuple[Longs, Longs], offsets: Longs) -> Columns:
    columns: Columns = {name: values_at(target.words[:, k], best) for k, name in enumerate(target.word_names)}
    for name in _LOWEST:
        if name in target.word_names:
            values = target.words[:, target.word_names.index(name)].astype(np.float64)
            columns[f"{name}_lowest"] = _lowest(values, *ends, len(best))
    for name in _BESIDE:
        if name in columns:
            for by in (-1, 1):
                columns[f"{name}_source{by:+d}"] = shifted(columns[name], offsets, by)
    return columns


def _lowest(values: Floats, source: Longs, target: Longs, size: int) -> Floats:
    result = np.full(size, np.inf)
    known = ~np.isnan(values[target])
    np.minimum.at(result, source[known], values[target[known]])
    return np.where(np.isinf(result), np.nan, result)


def link_ends(links: TokenLinks, segments: Segments) -> tuple[Longs, Longs]:
    """(n_links,) the two tokens of every link, numbered through the batch."""
    source, target = segments.source_tokens.offsets, segments.target_tokens.offsets
    segment = np.repeat(np.arange(len(links.links)), np.diff(links.links.offsets))
    return (
        np.asarray(source[segment] + links.links.source, np.int64),
        np.asarray(target[segment] + links.links.target, np.int64),
    )
