"""TokenMemory: token tables of segments seen before, so that folds that share rows share the work."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from features._word_quality.tokens import TokenTable, joined
from features.core.segments import Segments

_LIMIT = 1_000_000  # tokens remembered, about 1 GB

_Entry = TokenTable


@dataclass(eq=False)
class TokenMemory:
    """Tables by the text they are computed from; forgets everything when it is full."""

    _known: dict[tuple[str, ...], _Entry] = field(default_factory=dict, repr=False)
    _tokens: int = 0

    def table(
        self, segments: Segments, use: frozenset[str], compute: Callable[[Segments], TokenTable]
    ) -> TokenTable:
        """`compute(segments)`, of which only segments not seen before are computed."""
        keys = _keys(segments, use)
        missing = [i for i, key in enumerate(keys) if key not in self._known]
        if len(missing) == len(keys):
            table = compute(segments)
            self._remember(keys, table)
            return table
        if missing:
            self._remember([keys[i] for i in missing], compute(segments.take(missing)))
        if any(key not in self._known for key in keys):  # forgotten just now
            return compute(segments)
        return joined([self._known[key] for key in keys])

    def _remember(self, keys: list[tuple[str, ...]], table: TokenTable) -> None:
        size = int(table.offsets[-1])
        if self._tokens + size > _LIMIT:
            self._known.clear()
            self._tokens = 0
        if size <= _LIMIT:
            self._known.update(zip(keys, table.split(), strict=True))
            self._tokens += size

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": {}, "_tokens": 0}


def _keys(segments: Segments, use: frozenset[str]) -> list[tuple[str, ...]]:
    settings = repr((segments.source_tokenizer, segments.target_tokenizer, sorted(use)))
    columns = [segments.source, segments.target, *(segments.require(name) for name in sorted(use))]
    return [(settings, *row) for row in zip(*columns, strict=True)]
