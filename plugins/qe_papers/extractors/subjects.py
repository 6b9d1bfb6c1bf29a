"""Subjects of the translation's clauses: pronoun, other, or none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal

import numpy as np

from features.basics.errors import unknown_name
from features.syntax.trees import Trees
from features.text.annotation import Annotated
from qe_papers.extractors.constituent_trees import PHRASES, is_phrase
from qe_papers.families import AnnotationFamily, Measure
from qe_papers.syntax import Word, children, parsed, predicates, subject_of

PRONOMINAL, OTHER, DROPPED = "pronominal", "other", "dropped"
_VERBAL: Final = frozenset({"VP", "grup.verb", "gv"})
_PRONOUNS: Final = ("PRP", "p")  # tag prefixes of the Penn Treebank and of CESS
_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (by constituents)"


Kinds = Sequence[str] | None  # kind of subject of every clause of a text; None: unknown


def kinds_before(trees: Trees, i: int) -> Kinds:
    """Kinds of subjects before the outermost verb phrases of a tree.

    >>> inner = "(S (sn (da la) (nc niña)) (grup.verb (vm vino)))"
    >>> said = f"(S (sn (pp ella)) (grup.verb (vm pensó)) {inner})"
    >>> kinds_before(Trees.from_brackets([said], "x", plain=True), 0)
    ['pronominal', 'other']
    """
    first, last = int(trees.offsets[i]), int(trees.offsets[i + 1])
    if first == last:
        return None
    labels = [trees.types[label] for label in trees.labels[first:last]]
    begins, arities = trees.first_child[first:last] - first, trees.arities[first:last]
    below = [range(begin, begin + arity) for begin, arity in zip(begins, arities, strict=True)]
    result = []
    for node, label in enumerate(labels):
        if is_phrase(label, _VERBAL):
            continue  # skip phrases within a verb phrase
        for place, child in enumerate(below[node]):
            if is_phrase(labels[child], _VERBAL) and len(below[child]):
                before = [c for c in below[node][:place] if is_phrase(labels[c], PHRASES["np"])]
                result.append(_kind(labels, below, before[-1]) if before else DROPPED)
    return result


def _kind(labels: Sequence[str], below: Sequence[range], phrase: int) -> str:
    tags = list(_tags(labels, below, phrase))
    return PRONOMINAL if tags and all(tag.startswith(_PRONOUNS) for tag in tags) else OTHER


def _tags(labels: Sequence[str], below: Sequence[range], node: int) -> Iterator[str]:
    for child in below[node]:
        if not len(below[child]):
            yield labels[node]  # its word is below it
        else:
            yield from _tags(labels, below, child)


def kinds(words: Sequence[Word]) -> list[str]:
    """Kind of each predicate's subject: pronominal, other or dropped.

    >>> from qe_papers.syntax import features_of
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
    kind = word.feats.get("PronType", frozenset())
    return word.upos == "PRON" and not kind & {"Rel", "Int"}


def _count(clauses: Kinds, kind: str) -> float:
    return np.nan if clauses is None else clauses.count(kind)


def _share(clauses: Kinds, kind: str) -> float:
    return clauses.count(kind) / len(clauses) if clauses else np.nan


def _measures() -> Iterator[Measure[Kinds]]:
    for kind, what in (
        (PRONOMINAL, "clauses whose subject is a pronoun"),
        (OTHER, "clauses whose subject is another word or a clause"),
        (DROPPED, "clauses without a subject"),
    ):
        yield Measure(kind, what, _WLV, "words", partial(_count, kind=kind))
        yield Measure(f"{kind}_share", f"share of {what}", _WLV, "share", partial(_share, kind=kind))


@dataclass(frozen=True)
class Subjects(AnnotationFamily):
    """Clauses with a finite verb by their subject: a pronoun, another word or a clause, none.

    sides  parsed sides; the paper's: target
    parser  `dependencies`; or `constituents`, as in the paper: outermost verb phrases, with the nearest noun
           phrase before them in the same phrase, a pronoun if all its words have pronoun tags

    With dependencies, relative pronouns are other subjects, and imperatives are not counted, because they
    cannot drop a subject. Parts of speech, morphology (FEATS) and dependencies are required; without known
    verb forms, there are no clauses. With constituents, labels are those of the Penn Treebank and of CESS
    (AnCora), whose infinitive and gerund phrases are not verb phrases; all values are NaN without a tree.
    Shares are NaN without a clause.

    Raises InputError for words without a part of speech or a head, and for a text that was not parsed.
    """

    renamed: ClassVar[Mapping[str, str]] = {"by": "parser"}
    plain: ClassVar[str] = "what the subjects of the clauses are"

    parser: Literal["dependencies", "constituents"] = "dependencies"

    def __post_init__(self) -> None:
        if self.parser not in ("dependencies", "constituents"):
            raise unknown_name("subjects by", self.parser, ("dependencies", "constituents"))

    stem = "subjects"
    measures = tuple(_measures())

    def read(self, annotated: Annotated) -> list[Kinds]:
        if self.parser == "dependencies":
            return list(map(kinds, parsed(annotated)))
        trees = Trees.from_brackets(annotated.parses, annotated.location, plain=True)
        return [kinds_before(trees, i) for i in range(len(trees))]
