"""Agreement in the translation: subjects and verbs; nouns, determiners and adjectives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np

from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure
from qe_papers.syntax import Word, children, parsed, predicates, subject_of

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"

# Compared words -> description, categories.
RELATIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "verb": ("subjects and finite verbs", ("Person", "Number")),
    "predicate": ("subjects and predicative participles or adjectives", ("Gender", "Number")),
    "determiner": ("nouns and their determiners", ("Gender", "Number")),
    "adjective": ("nouns and their adjectives", ("Gender", "Number")),
}
PHRASE: Final = ("determiner", "adjective")  # pairs inside noun phrases
_NESTED: Final = frozenset({"nmod", "appos", "conj"})  # phrases inside noun phrases


@dataclass(frozen=True)
class Pair:
    """Two words that should agree; `clause` is the predicate whose subject phrase contains one of them."""

    relation: str
    agree: Mapping[str, bool]
    clause: int | None = None


Pairs = Sequence[Pair]


def pairs(words: Sequence[Word]) -> Pairs:
    below = children(words)
    made = [*_of_subjects(words, below), *_inside_phrases(words, _clauses(words, below))]
    return [pair for pair in made if pair.agree]


def _of_subjects(words: Sequence[Word], below: Sequence[Sequence[int]]) -> Iterator[Pair]:
    for predicate, verb in predicates(words, below):
        place = subject_of(words, below, predicate)
        if place is None or words[place].relation != "nsubj" or not _says_its_number(words, below, place):
            continue
        subject, second = words[place], words[predicate]
        yield Pair("verb", _agree(subject, words[verb], RELATIONS["verb"][1]), predicate)
        if _is_predicative(words, below, predicate):
            yield Pair("predicate", _agree(subject, second, RELATIONS["predicate"][1]), predicate)


def _says_its_number(words: Sequence[Word], below: Sequence[Sequence[int]], place: int) -> bool:
    coordinated = any(words[k].relation == "conj" for k in below[place])
    kind = words[place].feats.get("PronType", frozenset())
    return words[place].upos in ("NOUN", "PROPN", "PRON") and not coordinated and not kind & {"Rel", "Int"}


def _is_predicative(words: Sequence[Word], below: Sequence[Sequence[int]], predicate: int) -> bool:
    word, helpers = words[predicate], [words[k] for k in below[predicate]]
    if word.has("VerbForm", "Part"):
        return any(h.relation in ("aux", "cop") and h.lemma in ("ser", "estar") for h in helpers)
    return word.upos == "ADJ" and any(helper.relation == "cop" for helper in helpers)


def _clauses(words: Sequence[Word], below: Sequence[Sequence[int]]) -> dict[int, int]:
    result = {}
    for predicate, _ in predicates(words, below):
        subject = subject_of(words, below, predicate)
        if subject is not None and words[subject].relation == "nsubj":
            result.update(dict.fromkeys(_phrase(words, below, subject), predicate))
    return result


def _phrase(words: Sequence[Word], below: Sequence[Sequence[int]], place: int) -> Iterator[int]:
    """Yields the places of a phrase's words: its head, and nested phrases without their clauses."""
    yield place
    for k in below[place]:
        if words[k].relation in _NESTED:
            yield from _phrase(words, below, k)


def _inside_phrases(words: Sequence[Word], clauses: Mapping[int, int]) -> Iterator[Pair]:
    for word in words:
        relation = {"det": "determiner", "amod": "adjective"}.get(word.relation)
        if relation is None or word.head is None or word.head < 0:
            continue
        head, clause = words[word.head], clauses.get(word.head)
        agree = _agree(head, word, RELATIONS[relation][1])
        if head.upos == "NOUN":
            yield Pair(relation, agree, clause)
        elif head.upos == "PRON":
            yield Pair("pronoun", agree, clause)


def _agree(word: Word, head: Word, categories: Sequence[str]) -> dict[str, bool]:
    """Category -> whether both words agree in it, for categories that both have."""
    result = {}
    for category in categories:
        own, others = _values(word, category), head.feats.get(category)
        if own and others:
            result[category] = bool(own & others)
    return result


def _values(word: Word, category: str) -> frozenset[str] | None:
    if category == "Person" and word.upos in ("NOUN", "PROPN"):
        return frozenset("3")
    return word.feats.get(category)


def _disagreements(compared: Pairs, relations: Sequence[str]) -> float:
    return sum(pair.relation in relations and not all(pair.agree.values()) for pair in compared)


def _share(compared: Pairs, relations: Sequence[str]) -> float:
    comparable = sum(pair.relation in relations for pair in compared)
    return _disagreements(compared, relations) / comparable if comparable else np.nan


def _of_category(compared: Pairs, relation: str, category: str) -> float:
    return sum(pair.relation == relation and not pair.agree.get(category, True) for pair in compared)


def _share_of_category(compared: Pairs, relation: str, category: str) -> float:
    known = [
        pair.agree[category] for pair in compared if pair.relation == relation and category in pair.agree
    ]
    return known.count(False) / len(known) if known else np.nan


def _of_clauses(compared: Pairs) -> list[bool]:
    result: dict[int, bool] = {}
    for pair in compared:
        if pair.clause is not None:
            result[pair.clause] = result.get(pair.clause, False) or not all(pair.agree.values())
    return list(result.values())


def _clauses_that_disagree(compared: Pairs) -> float:
    return sum(_of_clauses(compared))


def _share_of_clauses(compared: Pairs) -> float:
    clauses = _of_clauses(compared)
    return sum(clauses) / len(clauses) if clauses else np.nan


def _measures() -> Iterator[Measure[Pairs]]:
    for name, what, relations in (
        ("verb_any", "subjects that disagree with their finite verbs", ("verb",)),
        ("phrase_any", "determiners and adjectives that disagree with their nouns", PHRASE),
    ):
        yield Measure(name, what, _WLV, "words", partial(_disagreements, relations=relations))
        yield Measure(f"{name}_share", f"share of {what} among those that can be compared", _WLV, "share",
                      partial(_share, relations=relations))  # fmt: skip
    for relation, (what, categories) in RELATIONS.items():
        for category in categories:
            name, text = f"{relation}_{category.lower()}", f"{what} that disagree in {category.lower()}"
            count = partial(_of_category, relation=relation, category=category)
            share = partial(_share_of_category, relation=relation, category=category)
            yield Measure(name, text, _WLV, "words", count)
            yield Measure(f"{name}_share", f"share of {text}", _WLV, "share", share)
    what = "clauses whose subject disagrees with its verb or predicate, or with words of the same phrase"
    yield Measure("subject_any", what, _WLV, "words", _clauses_that_disagree)
    yield Measure("subject_any_share", f"share of {what}", _WLV, "share", _share_of_clauses)


@dataclass(frozen=True)
class Agreement(AnnotationFamily):
    """Pairs of words that disagree in person, number or gender: number, and share of comparable pairs.

    sides  annotated sides; the paper's: target

    A pair is comparable in a category if both words have it; a word with two values (`Gender=Fem,Masc`)
    agrees with either. Nouns are of the third person. Coordinated subjects, whose number no word has, and
    relative pronouns are not compared.

    `verb_any` counts all disagreements of a subject with its verb, `phrase_any` of a word with its noun.
    `subject_any` is the paper's: clauses whose subject disagrees with its verb or predicate, or has a
    determiner or adjective that disagrees with its noun or pronoun; its denominator is the number of clauses
    with a comparable pair. Shares are NaN without a comparable pair, and so without FEATS.

    Raises InputError for words without a part of speech or a head.
    """

    plain: ClassVar[str] = "whether words agree in number, gender and person"

    stem = "agreement"
    measures = tuple(_measures())

    def read(self, annotated: Annotated) -> list[Pairs]:
        return list(map(pairs, parsed(annotated)))
