"""ParallelCorpus: an aligned corpus as integer arrays, read once, memory-mapped afterwards."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS, REMEDY
from features.basics.progress import Progress, silent
from features.basics.short_repr import short_repr
from features.storage.damage import typed
from features.storage.files import digest, read_lines, read_words, write_words
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import Tokens, TokensBuilder

Side = Literal["source", "target"]

_LINES = "lines.npy"
_BATCH = 5000  # pairs encoded, and reported, at a time


@short_repr
@dataclass(frozen=True, eq=False)
class ParallelCorpus:
    """Sentence pairs; `source` and `target` are Tokens of equal length, in natural case.

    `empty_pairs` counts the pairs that were skipped because a side was empty; then `lines` has, for each
    pair left, its place among all that were read, from 0 (None if none was skipped).

    >>> corpus = ParallelCorpus.from_lines([("a house", "una casa"), ("", "x")])
    >>> len(corpus), corpus.target.words(0), corpus.empty_pairs
    (1, ['una', 'casa'], 1)
    """

    source: Tokens
    target: Tokens
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    empty_pairs: int
    fingerprint: str
    lines: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def check_arrays(self) -> None:
        """Raises Damaged if the arrays do not fit each other."""
        self.source.check_arrays()
        typed("target offsets", self.target.offsets, np.int64, len(self) + 1)
        self.target.check_arrays()
        if self.lines is not None:
            typed("lines", self.lines, np.int64, len(self))

    def side(self, name: str) -> Tokens:
        if name not in ("source", "target"):
            raise ValueError(f"side must be 'source' or 'target', but got {name!r}")
        return self.source if name == "source" else self.target

    def tokenizer(self, side: str) -> Tokenizer:
        return self.source_tokenizer if side == "source" else self.target_tokenizer

    def take(self, rows: NDArray[np.int64]) -> "ParallelCorpus":
        return replace(
            self,
            source=self.source.take(rows),
            target=self.target.take(rows),
            empty_pairs=0,
            fingerprint=digest(self.fingerprint, np.asarray(rows, np.int64).tobytes()),
            lines=None if self.lines is None else self.lines[rows],
        )

    def swapped(self) -> "ParallelCorpus":
        return replace(
            self,
            source=self.target,
            target=self.source,
            source_tokenizer=self.target_tokenizer,
            target_tokenizer=self.source_tokenizer,
            fingerprint=digest("swapped", self.fingerprint),
        )

    def spread(self, sample: int) -> NDArray[np.int64]:
        """The rows of `sample` pairs spread evenly over the corpus, or of all pairs."""
        return np.unique(np.linspace(0, len(self) - 1, min(sample, len(self))).astype(np.int64))

    @classmethod
    def from_lines(
        cls,
        pairs: Iterable[tuple[str, str]],
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
        *,
        total: int | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Tokenizes and encodes a stream of pairs; raises InputError if none is left or one is too long."""
        tokenizers = source_tokenizer or Tokenizer(), target_tokenizer or Tokenizer()

        def sides() -> Iterator[tuple[Tokens, Tokens]]:
            done = 0
            for batch in batches(pairs, _BATCH):
                source, target = zip(*batch, strict=True)
                yield tokenizers[0].tokens(source), tokenizers[1].tokens(target)
                done += len(batch)
                progress("reading the corpus", done, total)

        return cls.of_tokens(sides(), *tokenizers)

    @classmethod
    def of_tokens(
        cls, sides: Iterable[tuple[Tokens, Tokens]], source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
    ) -> Self:
        """The pairs of several texts that have words on both sides; raises as `from_lines` does."""
        source, target = TokensBuilder(), TokensBuilder()
        full_rows: list[NDArray[np.int64]] = []
        done = 0
        for left_tokens, right_tokens in sides:
            words = np.maximum(left_tokens.lengths, right_tokens.lengths)
            if (words > MAX_WORDS).any():
                place = int((words > MAX_WORDS).argmax())
                raise InputError(
                    f"{words[place]:,} words, but a side of a pair has at most {MAX_WORDS:,}",
                    location=f"line {done + place + 1} of the parallel corpus",
                    remedy=REMEDY,
                )
            full = np.flatnonzero((left_tokens.lengths > 0) & (right_tokens.lengths > 0))
            source.add(left_tokens.take(full))
            target.add(right_tokens.take(full))
            full_rows.append(done + full)
            done += len(left_tokens)
        if not len(source):
            raise InputError("the parallel corpus has no sentence pair with words on both sides")
        empty = done - len(source)
        lines = np.concatenate(full_rows) if empty else None
        texts = source.tokens(), target.tokens()
        fingerprint = digest(source_tokenizer, target_tokenizer, texts[0].fingerprint, texts[1].fingerprint)
        return cls(*texts, source_tokenizer, target_tokenizer, empty, fingerprint, lines)

    @classmethod
    def read(
        cls,
        source: Path,
        target: Path,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        progress: Progress = silent,
    ) -> Self:
        return cls.from_lines(
            read_pairs(source, target), source_tokenizer, target_tokenizer, progress=progress
        )

    def save(self, path: Path) -> None:
        meta = {
            "source_tokenizer": self.source_tokenizer.settings(),
            "target_tokenizer": self.target_tokenizer.settings(),
            "empty_pairs": self.empty_pairs,
            "fingerprint": self.fingerprint,
        }
        (path / "meta.json").write_text(json.dumps(meta, indent=1, sort_keys=True), "utf-8")
        if self.lines is not None:
            np.save(path / _LINES, self.lines)
        for name, tokens in (("source", self.source), ("target", self.target)):
            write_words(path / f"{name}.types.txt", tokens.types)
            np.save(path / f"{name}.ids.npy", tokens.ids)
            np.save(path / f"{name}.offsets.npy", tokens.offsets)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta: Mapping[str, Any] = json.loads((path / "meta.json").read_text("utf-8"))
        sides = []
        for name in ("source", "target"):
            ids = np.load(path / f"{name}.ids.npy", mmap_mode="r")
            offsets = np.load(path / f"{name}.offsets.npy", mmap_mode="r")
            sides.append(Tokens(read_words(path / f"{name}.types.txt"), ids, offsets))
        lines = np.load(path / _LINES, mmap_mode="r") if (path / _LINES).is_file() else None
        tokenizers = Tokenizer(**meta["source_tokenizer"]), Tokenizer(**meta["target_tokenizer"])
        return cls(sides[0], sides[1], *tokenizers, meta["empty_pairs"], meta["fingerprint"], lines)


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Pairs of lines; an error names both files and both counts where they differ in length."""
    count = {source: 0, target: 0}
    short: Path | None = None
    for left_tokens, right_tokens in zip_longest(read_lines(source), read_lines(target)):
        count[source] += left_tokens is not None
        count[target] += right_tokens is not None
        if left_tokens is None or right_tokens is None:
            short = short or (source if left_tokens is None else target)
        elif short is None:
            yield left_tokens, right_tokens
    if short is not None:
        raise InputError(
            f"the two sides must have the same number of lines, but {source} has {count[source]} "
            f"and {target} has {count[target]}"
        )
    if not count[source]:
        raise InputError(f"{source} and {target} are empty", remedy="give one sentence per line")


Rows = NDArray[np.int64]

_BLOCK = 100  # pairs in a row: neighbours are of one document, and stay together
_BLOCKS = 20  # at least, where the corpus is small
_ENOUGH = 2000  # held-out pairs that a small corpus gives more than its share for, up to a third
_LENGTHS = {"source": (5, 45), "target": (4, 55)}  # tokens


def split_pairs(corpus: ParallelCorpus, pairs: int, share: int, seed: int) -> tuple[Rows, Rows]:
    """(rows left, rows held out), ascending: of the blocks drawn, at most `pairs` that fit.

    One block of `share` is drawn, of a small corpus up to one of 3. Held-out pairs have 5 to 45 source and 4
    to 55 target tokens, and share neither source nor target with the rows left (letters alike).
    """
    share = min(share, max(len(corpus) // _ENOUGH, 3))
    rng = np.random.default_rng(seed)
    block = max(min(_BLOCK, len(corpus) // _BLOCKS), 1)
    blocks = -(-len(corpus) // block)
    drawn = np.zeros(blocks, np.bool_)
    drawn[rng.choice(blocks, blocks // share, replace=False)] = True
    return _split_rows(corpus, drawn[np.arange(len(corpus)) // block], pairs, rng)


def held_out_in_turn(corpus: ParallelCorpus, pairs: int, groups: int, seed: int) -> list[tuple[Rows, Rows]]:
    """(rows left, rows held out) of `groups` random groups of blocks, each held out once (`split_pairs`)."""
    rng = np.random.default_rng(seed)
    block = max(min(_BLOCK, len(corpus) // _BLOCKS), 1)
    group = rng.permutation(-(-len(corpus) // block))[np.arange(len(corpus)) // block] % groups
    shares = [pairs * (k + 1) // groups - pairs * k // groups for k in range(groups)]
    return [_split_rows(corpus, group == k, share, rng) for k, share in enumerate(shares)]


def _split_rows(
    corpus: ParallelCorpus, inside: NDArray[np.bool_], pairs: int, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    left, candidates = np.flatnonzero(~inside), np.flatnonzero(inside)
    lengths = {side: corpus.side(side).lengths[candidates] for side in _LENGTHS}
    fits = [(lengths[side] >= low) & (lengths[side] <= high) for side, (low, high) in _LENGTHS.items()]
    of_fitting_length = np.asarray(np.all(fits, axis=0), np.bool_)
    fitting = candidates[of_fitting_length & _unseen(corpus, left, candidates)]
    if len(fitting) > pairs:
        fitting = np.sort(rng.choice(fitting, pairs, replace=False))
    return left, fitting


def held_out_lines(corpus: ParallelCorpus, first: int, last: int) -> tuple[Rows, Rows]:
    """(rows left, rows held out) by lines, from 1; rows left share no side with held-out pairs."""
    lines = 1 + (np.arange(len(corpus)) if corpus.lines is None else np.asarray(corpus.lines))
    inside = (lines >= first) & (lines <= last)
    left, held_out = np.flatnonzero(~inside), np.flatnonzero(inside)
    return left[_unseen(corpus, held_out, left)], held_out


def _unseen(corpus: ParallelCorpus, reference_rows: Rows, rows: Rows) -> NDArray[np.bool_]:
    new = np.ones(len(rows), np.bool_)
    for side in _LENGTHS:
        tokens = corpus.side(side).lower()
        known = set(_texts(tokens, reference_rows))
        new &= np.array([text not in known for text in _texts(tokens, rows)], np.bool_)
    return new


def _texts(tokens: Tokens, rows: Rows) -> list[bytes]:
    ids = np.asarray(tokens.ids)
    return [ids[tokens.offsets[i] : tokens.offsets[i + 1]].tobytes() for i in rows.tolist()]
