"""Determiners that are linked to no noun."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure
from qe_papers.syntax import Word, parsed

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
# Parts of speech that can govern a determiner, in addition to infinitives (`el hacer`).
_HEADS: Final = frozenset({"NOUN", "PROPN", "PRON", "NUM", "ADJ", "SYM", "X"})


def is_dangling(words: Sequence[Word], place: int) -> bool:
    """Whether a determiner has no head, or one that is neither a noun nor a substitute for one.

    >>> words = [Word("la", "el", "DET", head=1), Word("come", "comer", "VERB", head=-1)]
    >>> is_dangling(words, 0)
    True
    """
    head = words[place].head
    if head is None or head < 0:
        return True
    return words[head].upos not in _HEADS and not words[head].has("VerbForm", "Inf")


def _dangling(words: Sequence[Word]) -> float:
    return sum(word.upos == "DET" and is_dangling(words, place) for place, word in enumerate(words))


def _share(words: Sequence[Word]) -> float:
    determiners = sum(word.upos == "DET" for word in words)
    return _dangling(words) / determiners if determiners else np.nan


@dataclass(frozen=True)
class DanglingDeterminers(AnnotationFamily):
    """Determiners whose head is no noun and no substitute for one: number, and share of determiners.

    sides  annotated sides; the paper's: target

    A parser attaches every word, so a determiner without its noun depends on a verb, an adposition or another
    determiner. The share is NaN without determiners.

    Raises InputError for words without a part of speech or a head.
    """

    plain: ClassVar[str] = "articles without a noun"

    stem = "determiners"
    measures = (
        Measure("dangling", "determiners whose head is no noun", _WLV, "words", _dangling),
        Measure("dangling_share", "share of determiners whose head is no noun", _WLV, "share", _share),
    )

    def read(self, annotated: Annotated) -> list[list[Word]]:
        return parsed(annotated)
