"""Truecaser: the usual spelling of every word, capitals included, away from the starts of sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import Tokens

# After these a sentence, a title or a quotation may begin: capitals there say nothing of the word.
_OPENING = frozenset({".", "!", "?", ":", ";", '"', "'", "(", "[", "«", "¿", "¡", "-", "..."})


@dataclass(frozen=True, eq=False)
class Truecaser(Resource):
    """The most frequent spelling of each word where no sentence begins, as Moses's train-truecaser has it.

    Words that only ever begin sentences are counted there. Of equally frequent spellings the first in
    code point order is taken (capitals come first).

    spellings  one for each known word
    shares     (known words,) its share of the counted occurrences of the word

    >>> from features.core.tokens import Tokens
    >>> text = Tokens.from_lists(["The cat saw Ann .".split(), "Ann saw the cat .".split()])
    >>> caser = Truecaser.from_tokens(text)
    >>> caser.truecase(Tokens.from_lists([["Cat", "and", "Ann"], ["SAW"]])).types
    ('cat', 'and', 'Ann', 'saw')
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_truecaser": {"side": "source"},
        "target_truecaser": {"side": "target"},
    }

    spellings: tuple[str, ...]
    shares: NDArray[np.float32]
    settings: Mapping[str, Any]
    corpus_fingerprint: str

    @classmethod
    def build(  # type: ignore[override]
        cls, corpus: ParallelCorpus, *, side: Literal["source", "target"], progress: Progress = silent
    ) -> Self:
        """From one side of a parallel corpus."""
        progress(f"truecaser, {side}", 0, 1)
        found = cls.from_tokens(corpus.side(side))
        progress(f"truecaser, {side}", 1, 1)
        settings = {"side": side, **found.settings}
        return cls(found.spellings, found.shares, settings, corpus.fingerprint)

    @classmethod
    def from_tokens(cls, tokens: Tokens) -> Self:
        """From any text in natural case."""
        inside = np.bincount(tokens.ids[~begins(tokens)], minlength=len(tokens.types))
        anywhere = np.bincount(tokens.ids, minlength=len(tokens.types))
        words = np.array([word.lower() for word in tokens.types])
        _, group = np.unique(words, return_inverse=True)
        totals = np.bincount(group, inside)
        counts = np.where(totals[group] > 0, inside, anywhere)
        totals = np.where(totals > 0, totals, np.bincount(group, anywhere))
        order = np.lexsort((np.array(tokens.types), -counts, group))
        best = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
        best = best[counts[best] > 0]  # a part of a corpus keeps the types of the whole
        shares = (counts[best] / totals[group[best]]).astype(np.float32)
        spellings = tuple(tokens.types[i] for i in best)
        return cls(spellings, shares, {"words": len(spellings)}, tokens.fingerprint)

    def save(self, path: Path) -> None:
        (path / "spellings.txt").write_text("".join(s + "\n" for s in self.spellings), "utf-8", newline="")
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta, shares=self.shares)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        with (path / "spellings.txt").open(encoding="utf-8", newline="\n") as stream:
            spellings = tuple(stream.read().split("\n")[:-1])
        return cls(spellings, arrays["shares"], meta["settings"], meta["corpus_fingerprint"])

    @cached_property
    def _index(self) -> dict[str, str]:
        return {spelling.lower(): spelling for spelling in self.spellings}

    def usual(self, types: tuple[str, ...]) -> list[str | None]:
        """The usual spelling of each word, None for a word that the corpus lacks."""
        return [self._index.get(word.lower()) for word in types]

    def truecase(self, tokens: Tokens) -> Tokens:
        """The tokens with the usual spelling where a sentence or title begins; the others as they are.

        Unknown words keep their spelling.
        """
        index = {word: i for i, word in enumerate(tokens.types)}
        spelled = [usual or word for word, usual in zip(tokens.types, self.usual(tokens.types), strict=True)]
        mapping = np.array([index.setdefault(word, len(index)) for word in spelled], np.int32)
        ids = tokens.ids.copy()
        there = begins(tokens)
        ids[there] = mapping[ids[there]]
        texts = zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True)
        words = tuple(index)
        return Tokens.from_lists([words[i] for i in ids[start:end]] for start, end in texts)


def begins(tokens: Tokens) -> NDArray[np.bool_]:
    """(n_tokens,) whether a token begins its text, or follows a mark after which a sentence may begin."""
    opening = np.array([word in _OPENING for word in tokens.types], bool)
    found = np.zeros(len(tokens.ids), bool)
    if len(found):
        found[1:] = opening[tokens.ids[:-1]]
        found[tokens.offsets[:-1][tokens.lengths > 0]] = True
    return found
