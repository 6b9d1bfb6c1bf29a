"""Tokenizes batches by their distinct chunks: the text between blanks, each worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from features.core._moses import END, OTHER, MosesRules
from features.core.tokens import Tokens

_VARIANTS = 8  # first or not (2) x what follows (4)
_MEMO = 1 << 18  # chunks remembered, about 50 MB


@dataclass(eq=False)
class ChunkTokenizer:
    """Moses tokens of whole batches, equal to `rules.line` on every line.

    Every rule looks at one chunk and the blanks beside it, with these exceptions: a comma or apostrophe
    that begins a chunk wants to know whether the chunk is the first of its line; a full stop or apostrophe
    that ends it wants to know what follows (nothing, a lower-case letter, a digit, something else). So a
    chunk has at most 8 variants. Two patterns reach further and are left to `rules.line`: an apostrophe
    that ends a chunk before one that begins with an apostrophe (they share the blank that the rule
    consumes), and a chunk of control characters only (it vanishes).
    """

    rules: MosesRules
    clean: dict[int, str | None]  # str.translate table applied to every chunk; never gives blanks
    _memo: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._classes = self.rules.classes

    def split(self, text: str) -> list[str]:
        """The tokens of one line."""
        return self.rules.line(self._clean_line(text))

    def _clean_line(self, text: str) -> str:
        return " ".join(text.split()).translate(self.clean)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of a batch; types in no particular order."""
        index = _Interner()
        lines = [text.split() for text in texts]
        offsets = _offsets(np.fromiter(map(len, lines), np.int64, len(lines)))
        chunks = np.fromiter(map(index.__getitem__, chain.from_iterable(lines)), np.int64, offsets[-1])
        raw = list(index)
        codes, odd = self._codes(raw, chunks, offsets)
        codes, offsets = _replace_lines(codes, offsets, odd, len(raw) * _VARIANTS)
        used = np.flatnonzero(np.bincount(codes, minlength=1))
        known = used[: np.searchsorted(used, len(raw) * _VARIANTS)]
        expansions = [self._resolve(raw[code // _VARIANTS], code % _VARIANTS) for code in known.tolist()]
        expansions += [tuple(self.split(texts[i])) for i in odd.tolist()]
        row = np.zeros(used[-1] + 1 if len(used) else 1, np.int64)
        row[used] = np.arange(len(used))
        return _expand(expansions, row[codes], offsets)

    def _codes(
        self, raw: list[str], chunks: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n_chunks,) chunk * 8 + variant; the lines that `rules.line` must do whole."""
        clean = "\n".join(raw).translate(self.clean).split("\n")
        first = np.fromiter((ord(c[0]) if c else 0 for c in clean), np.int64, len(clean))
        last = np.fromiter((ord(c[-1]) if c else 0 for c in clean), np.int64, len(clean))
        quote = ord("'")
        starts, ends = np.unique(offsets[:-1][np.diff(offsets) > 0]), offsets[1:][np.diff(offsets) > 0] - 1
        is_first = np.zeros(len(chunks), np.int64)
        is_first[starts] = 1
        following = np.full(len(chunks), OTHER, np.int64)
        following[:-1] = self._classes[first][chunks[1:]]
        following[ends] = END
        variant = np.where(np.isin(first, [quote, ord(",")])[chunks], 4 * is_first, 0)
        variant += np.where(np.isin(last, [quote, ord(".")])[chunks], following, 0)
        strange = (first == 0)[chunks]
        strange[:-1] |= (last == quote)[chunks[:-1]] & (first == quote)[chunks[1:]] & (is_first[1:] == 0)
        odd = np.searchsorted(offsets, np.flatnonzero(strange), side="right") - 1
        return chunks * _VARIANTS + variant, np.unique(odd)

    def _resolve(self, chunk: str, variant: int) -> tuple[str, ...]:
        found = self._memo.get((chunk, variant))
        if found is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            found = self.rules.chunk(chunk.translate(self.clean), variant >= 4, variant % 4)
            self._memo[chunk, variant] = found
        return found


class _Interner(dict[str, int]):
    """string -> id, new strings get the next id."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def _replace_lines(
    codes: NDArray[np.int64], offsets: NDArray[np.int64], odd: NDArray[np.int64], base: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every line in `odd` becomes the one code base + its rank in `odd`."""
    if not len(odd):
        return codes, offsets
    lengths = np.diff(offsets)
    keep = np.ones(len(codes), bool)
    for i in odd.tolist():
        keep[offsets[i] + 1 : offsets[i + 1]] = False
    codes[offsets[odd]] = base + np.arange(len(odd))
    lengths[odd] = 1
    return codes[keep], _offsets(lengths)


def _expand(expansions: list[tuple[str, ...]], rows: NDArray[np.int64], offsets: NDArray[np.int64]) -> Tokens:
    """Tokens of lines whose chunks are `rows` of `expansions`."""
    index = _Interner()
    counts = np.fromiter(map(len, expansions), np.int64, len(expansions))
    flat = np.fromiter(map(index.__getitem__, chain.from_iterable(expansions)), np.int32, counts.sum())
    sizes = counts[rows]
    ends = _offsets(sizes)
    shift = np.repeat((_offsets(counts)[:-1])[rows] - ends[:-1], sizes)
    ids = flat[np.arange(ends[-1]) + shift]
    return Tokens(tuple(index), ids, ends[offsets])
