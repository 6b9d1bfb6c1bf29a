"""Token tables of segments, remembered: folds with shared rows, and families, reuse them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from weakref import finalize

import numpy as np

from features.core.segments import Segments
from features.word_level.columns import Longs, concatenated
from features.word_level.tokens import TokenResources, TokenTable

_LIMIT = 1_000_000  # tokens remembered, about 1 GB

_Key = tuple[str, ...]


@dataclass(eq=False)
class TokenMemory:
    """Tables by the text they are computed from; forgets everything when it is full. Of several threads one
    computes, and the others wait for what it finds.
    """

    _tables: list[TokenTable] = field(default_factory=list)
    _places: dict[_Key, tuple[int, int]] = field(default_factory=dict)  # the table, and the row in it
    _tokens: int = 0
    _lock: Lock = field(default_factory=Lock)

    def table(
        self, segments: Segments, use: frozenset[str], compute: Callable[[Segments], TokenTable]
    ) -> TokenTable:
        keys = _keys(segments, use)
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
        return _in_order(pieces)

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
    """`resources.described(segments, use)`; only segments new to the resources are computed. All families
    that describe words by the same method, with the very same resources in memory, share what they find;
    tables are freed with the first of the resources.
    """
    return _memory_of(resources).table(segments, use, lambda new: resources.described(new, use))


def forget() -> None:
    with _memories_lock:
        known = list(_memories.values())
    for memory in known:
        memory.forget()


def _memory_of(resources: TokenResources) -> TokenMemory:
    parts = resources.resources
    key = (*resources.described_by, *sorted(map(id, parts)))  # knowledge is named in any order
    with _memories_lock:
        if key not in _memories:
            _memories[key] = TokenMemory()
            for resource in parts:
                finalize(resource, _memories.pop, key, None)
        return _memories[key]


def _keys(segments: Segments, use: frozenset[str]) -> list[_Key]:
    settings = repr((segments.source_tokenizer, segments.target_tokenizer, sorted(use)))
    columns = [segments.source, segments.target, *(segments.require(name) for name in sorted(use))]
    return [(settings, *row) for row in zip(*columns, strict=True)]


def _in_order(pieces: list[tuple[TokenTable, Longs]]) -> TokenTable:
    places = np.concatenate([places for _, places in pieces])
    table = pieces[0][0] if len(pieces) == 1 else concatenated([table for table, _ in pieces])
    ordered = np.array_equal(places, np.arange(len(places)))
    return table if ordered else table.take(np.argsort(places))
