"""Perturbation: a change of a translation whose effect on quality is known."""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.catalogue import Catalogue
from features.core.segments import Segments
from features.storage.files import digest

Effect = Literal["destroying", "wrong in one place", "harmless", "reported"]
EFFECTS: tuple[Effect, ...] = ("destroying", "wrong in one place", "harmless", "reported")

# Scripts that put no blanks between words: their units are grapheme clusters.
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True)
class Texts:
    """Source and target texts, row by row, with their languages (codes such as `en`)."""

    source: Sequence[str]
    target: Sequence[str]
    source_language: str
    target_language: str

    @cached_property
    def target_words(self) -> tuple[str, ...]:
        return tuple(sorted({word for text in self.target for word in words(text)}))


class Perturbation(ABC):
    """Changes the translation of one row; subclasses are in `qe/data/perturbations`.

    Attributes
    ----------
    effect : str
        Effect on quality: `destroying`, `wrong in one place`, `harmless`, or `reported` if opinions differ.
    """

    effect: ClassVar[Effect]

    @abstractmethod
    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        """The changed translation of a row; None if there is nothing to change."""

    def source(self, texts: Texts, row: int) -> str:
        """The source of the changed translation; only `swapped` changes it."""
        return texts.source[row]


PERTURBATIONS: Catalogue[Perturbation] = Catalogue("qe.data.perturbations", Perturbation, "perturbation")


def names(effect: Effect | None = None) -> tuple[str, ...]:
    return tuple(n for n in PERTURBATIONS.names if effect in (None, PERTURBATIONS.get(n).effect))


def perturbed(
    segments: Segments, name: str, seed: int = 0, rows: Sequence[int] | None = None
) -> tuple[Segments, NDArray[np.int64]]:
    """The segments that the perturbation changes, and their row numbers in `segments`.

    >>> segments = Segments(("a b .", "c"), ("x y .", "z"))
    >>> changed, rows = perturbed(segments, "three_times")
    >>> changed.target, rows.tolist()
    (('x y . x y . x y .', 'z z z'), [0, 1])
    """
    kind = PERTURBATIONS.get(name)()
    texts = texts_of(segments)
    chosen = range(len(segments)) if rows is None else rows
    seeds = {row: digest(name, seed, texts.source[row], texts.target[row]) for row in chosen}
    changed = {row: kind.target(texts, row, random.Random(seeds[row])) for row in chosen}
    kept = [row for row, text in changed.items() if text is not None and text != texts.target[row]]
    sources = tuple(kind.source(texts, row) for row in kept)
    targets = tuple(str(changed[row]) for row in kept)
    # `replace` drops the tokens of the unchanged texts.
    taken = replace(segments.take(kept), source=sources, target=targets)
    return taken, np.array(kept, np.int64)


def texts_of(segments: Segments) -> Texts:
    languages = (segments.source_tokenizer.language, segments.target_tokenizer.language)
    return Texts(segments.source, segments.target, *languages)


def words(text: str) -> list[str]:
    """Units that perturbations drop, shuffle and replace: words; characters in scripts without spaces.

    >>> words("a good one"), words("好的")
    (['a', 'good', 'one'], ['好', '的'])
    """
    split = text.split()
    return regex.findall(r"\X", text) if _without_blanks(text, split) else split


def joined(units: Sequence[str], text: str) -> str:
    return ("" if _without_blanks(text, text.split()) else " ").join(units)


def _without_blanks(text: str, split: Sequence[str]) -> bool:
    return len(split) <= 1 + len(text) // 20 and _NO_BLANKS.search(text) is not None
