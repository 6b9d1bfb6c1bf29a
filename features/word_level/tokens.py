"""TokenTable: what is known of the tokens and gaps of a batch before any label is seen; tables are cached."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import Lock
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import rows_of
from features.basics.threads import even_ranges, side_by_side
from features.comparisons.phrase_decoder import decode
from features.core.configured import resources_in
from features.core.resource import Resource
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from features.resources.word_vectors import WordVectors
from features.word_level.columns import Columns, Longs, concatenated, matrix, shifted, values_at
from features.word_level.keys import Keys, WordClasses, annotation_keys, gap_keys, gap_sides, word_keys
from features.word_level.labels import gap_offsets
from features.word_level.lookups import (
    TokenLinks,
    agreement_columns,
    aligned_links,
    given_links,
    language_columns,
    link_columns,
    phrase_columns,
    source_columns,
    surface_columns,
    translation_columns,
    tuple_columns,
)
from features.word_level.model import Inputs

# Raised whenever columns or keys change: cached values and saved models are then refused.
COLUMNS_VERSION = 2

_LEAST = 20_000  # target tokens that are worth a thread: each piece looks its distinct words up anew

# What a gap sees of the words at its sides.
GAP_COLUMNS = (
    "lm", "backward", "matched", "frequency", "ibm_highest", "ibm_pair", "posterior", "source_free_left",
    "source_free_right", "fertility", "punctuation", "jump_left", "source_fertility", "phrase_target",
    "phrase_source", "tuple", "tuple_matched", "copied", "segment_source_free", "lm_mean",
)  # fmt: skip
# The same of columns that are there only where other translations are.
GAP_COLUMNS_OF_OTHERS = (
    "decoder_equal", "decoder_inserted", "decoder_order", "pseudo_equal", "pseudo_inserted", "pseudo_order",
    "back_equal",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TokenResources:
    source_lm5: LanguageModel
    target_lm: LanguageModel
    target_lm_backward: LanguageModel
    source_ngrams: NgramCounts
    target_ngrams: NgramCounts
    lexicon_source_to_target: Lexicon
    lexicon_target_to_source: Lexicon
    aligner: Aligner
    phrase_table: PhraseTable
    tuple_lm: TupleLM
    source_vectors: WordVectors
    target_vectors: WordVectors

    @property
    def resources(self) -> tuple[Resource, ...]:
        return tuple(resources_in(self))

    def described(self, segments: Segments, use: frozenset[str]) -> "TokenTable":
        return describe(segments, self, use, decoder=self.decodes)

    @property
    def described_by(self) -> tuple[Hashable, ...]:
        return (self.decodes,)

    @property
    def decodes(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class TokenTable:
    """n segments: their target tokens and gaps.

    words, gaps            (n_tokens, k), (n_gaps, k') columns `word_names`, `gap_names`; NaN: undefined
    word_keys, gap_keys    name -> keys for target encodings
    word_rows, gap_rows    (n_tokens, 4), (n_gaps, 2) rows of word vectors: the word, the one before, the one
                           after (target), the aligned one (source); the words on both sides (target)
    offsets                (n + 1,) tokens
    """

    word_names: tuple[str, ...]
    gap_names: tuple[str, ...]
    words: NDArray[np.float32]
    gaps: NDArray[np.float32]
    word_keys: dict[str, Keys]
    gap_keys: dict[str, Keys]
    word_rows: NDArray[np.int32]
    gap_rows: NDArray[np.int32]
    offsets: Longs

    @property
    def gap_offsets(self) -> Longs:
        return gap_offsets(self.offsets)

    def take(self, rows: Longs) -> "TokenTable":
        offsets, words = rows_of(self.offsets, rows)
        _, gaps = rows_of(self.gap_offsets, rows)
        return replace(
            self,
            words=self.words[words],
            gaps=self.gaps[gaps],
            word_keys={name: keys[words] for name, keys in self.word_keys.items()},
            gap_keys={name: keys[gaps] for name, keys in self.gap_keys.items()},
            word_rows=self.word_rows[words],
            gap_rows=self.gap_rows[gaps],
            offsets=offsets,
        )

    def with_columns(self, words: Columns, gaps: Columns) -> "TokenTable":
        return replace(
            self,
            word_names=(*self.word_names, *words),
            gap_names=(*self.gap_names, *gaps),
            words=np.hstack([self.words, matrix(words, len(self.words))]),
            gaps=np.hstack([self.gaps, matrix(gaps, len(self.gaps))]),
        )

    def beside_gaps(self, words: Columns) -> Columns:
        """Columns of words as columns `left_NAME` and `right_NAME` of gaps; NaN without a word."""
        gaps: Columns = {}
        for name, values in words.items():
            sides = gap_sides(np.asarray(values, np.float64), self.offsets, np.nan)
            gaps[f"left_{name}"], gaps[f"right_{name}"] = sides
        return gaps

    def word_inputs(self, resources: TokenResources) -> Inputs:
        target, source = resources.target_vectors.vectors, resources.source_vectors.vectors
        tables = (target, target, target, source)
        return Inputs(self.words, self.word_keys, list(zip(tables, self.word_rows.T, strict=True)))


def describe(
    segments: Segments, resources: TokenResources, use: frozenset[str], *, decoder: bool = True
) -> TokenTable:
    """The table of a batch, on all cores; `use` names the optional columns of Segments that are read."""
    pieces = even_ranges(segments.target_tokens.lengths, smallest=_LEAST, per_core=8) or [(0, 0)]
    parts = [segments] if len(pieces) == 1 else [segments.take(np.arange(*rows)) for rows in pieces]
    return concatenated(list(side_by_side(lambda part: _described(part, resources, use, decoder), parts)))


def _described(
    segments: Segments, resources: TokenResources, use: frozenset[str], decoder: bool
) -> TokenTable:
    links = given_links(segments) if "alignment" in use else aligned_links(segments, resources.aligner)
    target = segments.target_tokens
    columns: Columns = {
        **language_columns(
            target, resources.target_lm, resources.target_lm_backward, resources.target_ngrams
        ),
        **source_columns(segments, links, resources.source_lm5, resources.source_ngrams),
        **translation_columns(
            segments, links, resources.lexicon_source_to_target, resources.lexicon_target_to_source
        ),
        **link_columns(links, segments),
        **surface_columns(segments, links),
        **phrase_columns(segments, resources.phrase_table),
        **tuple_columns(segments, resources.aligner, resources.tuple_lm),
    }
    if decoder:
        decoded = decode(segments.source_tokens, resources.phrase_table, resources.target_lm).tokens
        columns |= agreement_columns("decoder_", target, decoded)
    if "pseudo_reference" in use:
        columns |= agreement_columns("pseudo_", target, segments.pseudo_reference_tokens)
    if "back_translation" in use:
        back = agreement_columns("back_", segments.source_tokens, segments.back_translation_tokens)
        columns |= {name: values_at(column, links.best) for name, column in back.items()}
    gaps = _gap_columns(columns, target.offsets)
    rows, source_rows = (
        resources.target_vectors.ids(target),
        resources.source_vectors.ids(segments.source_tokens),
    )
    classes = WordClasses(
        resources.source_vectors.classes[source_rows], resources.target_vectors.classes[rows]
    )
    annotated_words, annotated_gaps = annotation_keys(segments, links, use)
    size = len(target.ids)
    return TokenTable(
        tuple(columns),
        tuple(gaps),
        matrix(columns, size),
        matrix(gaps, size + len(target)),
        word_keys(segments, links, classes) | annotated_words,
        gap_keys(segments, classes) | annotated_gaps,
        _word_rows(rows, target.offsets, source_rows, links),
        np.column_stack(gap_sides(rows, target.offsets, 0)),
        np.asarray(target.offsets),
    )


def _word_rows(
    rows: NDArray[np.int32], offsets: Longs, source_rows: NDArray[np.int32], links: TokenLinks
) -> NDArray[np.int32]:
    aligned = np.zeros(len(rows), np.int32)
    aligned[links.best >= 0] = source_rows[links.best[links.best >= 0]]
    before, after = (np.nan_to_num(shifted(rows, offsets, by)).astype(np.int32) for by in (-1, 1))
    return np.column_stack([rows, before, after, aligned])


def _gap_columns(columns: Columns, offsets: Longs) -> Columns:
    result: Columns = {}
    for name in (*GAP_COLUMNS, *(name for name in GAP_COLUMNS_OF_OTHERS if name in columns)):
        values = np.asarray(columns[name], np.float64)
        result[f"left_{name}"], result[f"right_{name}"] = gap_sides(values, offsets, np.nan)
    return result


_LIMIT = 1_000_000  # tokens remembered, about 1 GB

_Key = tuple[str, ...]


@dataclass(eq=False)
class TokenMemory:
    """Tables by the text they are computed from, cleared when full; one thread computes, others wait."""

    _tables: list[TokenTable] = field(default_factory=list)
    _places: dict[_Key, tuple[int, int]] = field(default_factory=dict)  # the table, and the row in it
    _tokens: int = 0
    _lock: Lock = field(default_factory=Lock)

    def table(
        self, segments: Segments, use: frozenset[str], compute: Callable[[Segments], TokenTable]
    ) -> TokenTable:
        settings = repr((segments.source_tokenizer, segments.target_tokenizer, sorted(use)))
        columns = [segments.source, segments.target, *(segments.require(name) for name in sorted(use))]
        keys = [(settings, *row) for row in zip(*columns, strict=True)]
        with self._lock:
            missing = [i for i, key in enumerate(keys) if key not in self._places]
            if len(missing) == len(keys):
                table = compute(segments)
                self._remember(keys, table)
                return table
            pieces = self._known_pieces(keys)
            if missing:
                new = compute(segments.take(missing))
                pieces.append((new, np.array(missing)))
                self._remember([keys[i] for i in missing], new)
        places = np.concatenate([places for _, places in pieces])
        table = pieces[0][0] if len(pieces) == 1 else concatenated([table for table, _ in pieces])
        ordered = np.array_equal(places, np.arange(len(places)))
        return table if ordered else table.take(np.argsort(places))

    def _known_pieces(self, keys: list[_Key]) -> list[tuple[TokenTable, Longs]]:
        found = [(i, *self._places[key]) for i, key in enumerate(keys) if key in self._places]
        which, table, row = np.array(found).T
        pieces = []
        for k in np.unique(table).tolist():
            rows = row[table == k]
            whole = self._tables[k]
            same = np.array_equal(rows, np.arange(len(whole.offsets) - 1))
            pieces.append((whole if same else whole.take(rows), which[table == k]))
        return pieces

    def _remember(self, keys: list[_Key], table: TokenTable) -> None:
        size = int(table.offsets[-1])
        if self._tokens + size > _LIMIT:
            self._clear()
        if size <= _LIMIT:
            number = len(self._tables)
            self._tables.append(table)
            self._places.update((key, (number, row)) for row, key in enumerate(keys))
            self._tokens += size

    def forget(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self._clear()
            finally:
                self._lock.release()

    def _clear(self) -> None:
        self._tables.clear()
        self._places.clear()
        self._tokens = 0


_memories: dict[tuple[Hashable, ...], TokenMemory] = {}
_memories_lock = Lock()


def remembered(resources: TokenResources, segments: Segments, use: frozenset[str]) -> TokenTable:
    """`resources.described(segments, use)`, cached: only new segments are computed."""
    parts = resources.resources
    key = (*resources.described_by, *sorted(map(id, parts)))  # knowledge is named in any order
    with _memories_lock:
        if key not in _memories:
            _memories[key] = TokenMemory()
            for resource in parts:
                finalize(resource, _memories.pop, key, None)
        memory = _memories[key]
    return memory.table(segments, use, lambda new: resources.described(new, use))


def forget_tables() -> None:
    with _memories_lock:
        known = list(_memories.values())
    for memory in known:
        memory.forget()
