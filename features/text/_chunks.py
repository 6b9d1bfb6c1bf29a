"""Tokenizes batches by their distinct chunks: the text between blanks, each worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from features.text._moses import END, OTHER, MosesRules

_VARIANTS = 8  # first or not (2) x what follows (4)
_MEMO = 1 << 16  # chunks remembered, about 12 MB: all words of a text that are not rare

Longs = NDArray[np.int64]


@dataclass(eq=False)
class ChunkTokenizer:
    """Moses tokens of whole batches, equal to `split` of every line.

    Every rule looks at one chunk and the blanks around it, with these exceptions: a comma or apostrophe that
    begins a chunk wants to know whether the chunk is the first of its line; a full stop or apostrophe that
    ends it wants to know what follows (nothing, a lower-case letter, a digit, something else). So a chunk has
    at most 8 variants. Two patterns reach further and are left to `split`: an apostrophe or comma that ends a
    chunk before one that begins with the same (they share the blank that the rule consumes), and a chunk of
    control characters only (it vanishes).
    """

    rules: MosesRules
    clean: dict[int, str | None]  # str.translate table applied to every chunk; never gives blanks
    _memo: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._classes = self.rules.classes

    def split(self, text: str) -> list[str]:
        # Two blanks stay where only control characters stood between them: the rules can tell.
        return self.rules.line(" ".join(text.split()).translate(self.clean).strip())

    def tokens(self, texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32], Longs]:
        """The tokens of a batch: types (some twice), ids, offsets."""
        from features.basics.distinct import intern_chunks  # numba: paid by those who tokenize

        raw, chunks, offsets = intern_chunks(texts)
        clean = "\n".join(raw).translate(self.clean).split("\n")
        codes, odd = self._codes(clean, chunks, offsets)
        codes, offsets = _replace_lines(codes, offsets, odd, len(clean) * _VARIANTS)
        used = np.flatnonzero(np.bincount(codes, minlength=1))
        known = used[: np.searchsorted(used, len(clean) * _VARIANTS)]
        pairs = zip((known // _VARIANTS).tolist(), (known % _VARIANTS).tolist(), strict=True)
        expansions = [self._resolve(clean[i], variant) for i, variant in pairs]
        expansions += [tuple(self.split(texts[i])) for i in odd.tolist()]
        row = np.zeros(used[-1] + 1 if len(used) else 1, np.int64)
        row[used] = np.arange(len(used))
        return _expand(expansions, row[codes], offsets)

    def _codes(self, clean: list[str], chunks: Longs, offsets: Longs) -> tuple[Longs, Longs]:
        first = np.fromiter([ord(c[0]) if c else 0 for c in clean], np.int64, len(clean))
        last = np.fromiter([ord(c[-1]) if c else 0 for c in clean], np.int64, len(clean))
        full = np.flatnonzero(np.diff(offsets))
        is_first = np.zeros(len(chunks), bool)
        is_first[offsets[full]] = True
        following = np.full(len(chunks), OTHER, np.int64)
        following[:-1] = self._classes[first][chunks[1:]]
        following[offsets[full + 1] - 1] = END
        quote, comma, stop = map(ord, "',.")
        variant = 4 * (is_first & ((first == quote) | (first == comma))[chunks])
        variant += following * ((last == quote) | (last == stop))[chunks]
        strange = (first == 0)[chunks]
        for sign in (quote, comma):
            strange[:-1] |= (last == sign)[chunks[:-1]] & (first == sign)[chunks[1:]] & ~is_first[1:]
        odd = np.searchsorted(offsets, np.flatnonzero(strange), side="right") - 1
        return chunks * _VARIANTS + variant, np.unique(odd)

    def _resolve(self, chunk: str, variant: int) -> tuple[str, ...]:
        pieces = self._memo.get((chunk, variant))
        if pieces is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            pieces = self.rules.chunk(chunk, variant >= 4, variant % 4)
            self._memo[chunk, variant] = pieces
        return pieces


def _offsets(lengths: Longs) -> Longs:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def _replace_lines(codes: Longs, offsets: Longs, odd: Longs, base: int) -> tuple[Longs, Longs]:
    if not len(odd):
        return codes, offsets
    lengths = np.diff(offsets)
    keep = np.ones(len(codes), bool)
    for i in odd.tolist():
        keep[offsets[i] + 1 : offsets[i + 1]] = False
    codes[offsets[odd]] = base + np.arange(len(odd))
    lengths[odd] = 1
    return codes[keep], _offsets(lengths)


def _expand(
    expansions: list[tuple[str, ...]], rows: Longs, offsets: Longs
) -> tuple[list[str], NDArray[np.int32], Longs]:
    counts = np.fromiter(map(len, expansions), np.int64, len(expansions))
    sizes = counts[rows]
    ends = _offsets(sizes)
    shift = np.repeat(_offsets(counts)[rows] - ends[:-1], sizes)
    ids = (np.arange(ends[-1]) + shift).astype(np.int32)
    return list(chain.from_iterable(expansions)), ids, ends[offsets]
