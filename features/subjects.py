"""Subjects of the translation's clauses: pronouns, other words, none."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.differences import Both, Measure, Sides, annotations_of, columns_of, read
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.syntax.syntax import Word, children, parsed, predicates, subject_of

PRONOMINAL, OTHER, DROPPED = "pronominal", "other", "dropped"
_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (there by what stands before verb phrases)"


@dataclass(frozen=True)
class Subjects(Extractor):
    """Clauses with a finite verb by their subject: a pronoun, another word or a clause, none.

    sides  those that are looked at; the paper's: target

    Relative pronouns are other subjects, and imperatives have none that could be dropped: they do not count.
    Needs parts of speech, morphology (FEATS) and dependencies; where nothing is known of verb forms, there is
    no clause. Shares are NaN without a clause.

    Raises InputError for words without a part of speech or a head.
    """

    plain: ClassVar[str] = "what the subjects of the clauses are"

    sides: Sides = "target"

    @property
    def columns(self) -> tuple[Column[Both["Kinds"]], ...]:
        return tuple(columns_of("subjects", MEASURES, self.sides))

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(self.columns)

    def requires(self) -> tuple[str, ...]:
        return annotations_of(self.sides)

    def extract(self, segments: Segments) -> FloatArray:
        return block(self.columns, read(segments, self.sides, lambda side: list(map(kinds, parsed(side)))))


Kinds = Sequence[str]  # the kind of subject of every clause of a text


def kinds(words: Sequence[Word]) -> Kinds:
    """
    >>> from features.syntax.syntax import features_of
    >>> llueve = Word("llueve", "llover", "VERB", features_of("VerbForm=Fin"), -1, "root")
    >>> kinds([llueve]), kinds([Word("ella", "él", "PRON", head=1, relation="nsubj"), llueve])
    (['dropped'], ['pronominal'])
    """
    below = children(words)
    result = []
    for predicate, verb in predicates(words, below):
        place = subject_of(words, below, predicate)
        if place is not None:
            result.append(PRONOMINAL if _is_personal(words[place]) else OTHER)
        elif not words[verb].has("Mood", "Imp"):
            result.append(DROPPED)
    return result


def _is_personal(word: Word) -> bool:
    """Whether it is a pronoun that is not relative, or asks for something."""
    kind = word.feats.get("PronType", frozenset())
    return word.upos == "PRON" and not kind & {"Rel", "Int"}


def _count(clauses: Kinds, kind: str) -> float:
    return clauses.count(kind)


def _share(clauses: Kinds, kind: str) -> float:
    return clauses.count(kind) / len(clauses) if clauses else np.nan


def _measures() -> Sequence[Measure[Kinds]]:
    made: list[Measure[Kinds]] = []
    for kind, what in (
        (PRONOMINAL, "clauses whose subject is a pronoun"),
        (OTHER, "clauses whose subject is another word or a clause"),
        (DROPPED, "clauses without a subject"),
    ):
        made += [
            Measure(kind, what, _WLV, "words", partial(_count, kind=kind)),
            Measure(f"{kind}_share", f"share of {what}", _WLV, "share", partial(_share, kind=kind)),
        ]
    return made


MEASURES: Final = _measures()
