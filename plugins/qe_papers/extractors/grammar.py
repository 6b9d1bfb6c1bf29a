"""Grammar of the translation: agreement, determiners without a noun, subjects of clauses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal

from features.syntax.trees import Trees
from features.text.annotation import Annotated
from qe_papers.extractors.trees import PHRASES, is_phrase
from qe_papers.families import AnnotationFamily, Measure, number_and_share
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
    below, clauses = children(words), dict[int, int]()
    subjects = [
        (predicate, verb, place)
        for predicate, verb in predicates(words, below)
        if (place := subject_of(words, below, predicate)) is not None and words[place].relation == "nsubj"
    ]
    for predicate, _, place in subjects:
        clauses.update(dict.fromkeys(_phrase(words, below, place), predicate))
    made = [*_of_subjects(words, below, subjects), *_inside_phrases(words, clauses)]
    return [pair for pair in made if pair.agree]


def _of_subjects(
    words: Sequence[Word], below: Sequence[Sequence[int]], subjects: Sequence[tuple[int, int, int]]
) -> Iterator[Pair]:
    for predicate, verb, place in subjects:
        subject, second = words[place], words[predicate]
        helpers = [words[k] for k in below[predicate]]
        coordinated = any(words[k].relation == "conj" for k in below[place])
        relative = subject.feats.get("PronType", frozenset()) & {"Rel", "Int"}
        if subject.upos not in ("NOUN", "PROPN", "PRON") or coordinated or relative:
            continue  # no word has its number
        yield Pair("verb", _agree(subject, words[verb], RELATIONS["verb"][1]), predicate)
        if second.has("VerbForm", "Part"):
            predicative = any(h.relation in ("aux", "cop") and h.lemma in ("ser", "estar") for h in helpers)
        else:
            predicative = second.upos == "ADJ" and any(helper.relation == "cop" for helper in helpers)
        if predicative:
            yield Pair("predicate", _agree(subject, second, RELATIONS["predicate"][1]), predicate)


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
        third = category == "Person" and word.upos in ("NOUN", "PROPN")
        own = frozenset("3") if third else word.feats.get(category)
        others = head.feats.get(category)
        if own and others:
            result[category] = bool(own & others)
    return result


def _disagree(compared: Pairs, relations: Sequence[str]) -> list[bool]:
    return [not all(pair.agree.values()) for pair in compared if pair.relation in relations]


def _disagree_in(compared: Pairs, relation: str, category: str) -> list[bool]:
    known = [pair.agree for pair in compared if pair.relation == relation]
    return [not agree[category] for agree in known if category in agree]


def _disagreeing_clauses(compared: Pairs) -> list[bool]:
    result: dict[int, bool] = {}
    for pair in compared:
        if pair.clause is not None:
            result[pair.clause] = result.get(pair.clause, False) or not all(pair.agree.values())
    return list(result.values())


def _measures() -> Iterator[Measure[Pairs]]:
    for name, what, relations in (
        ("verb_any", "subjects that disagree with their finite verbs", ("verb",)),
        ("phrase_any", "determiners and adjectives that disagree with their nouns", PHRASE),
    ):
        flags, compared = partial(_disagree, relations=relations), " among those that can be compared"
        yield from number_and_share(name, what, _WLV, flags, compared)
    for relation, (what, categories) in RELATIONS.items():
        for category in categories:
            name, text = f"{relation}_{category.lower()}", f"{what} that disagree in {category.lower()}"
            flags_in = partial(_disagree_in, relation=relation, category=category)
            yield from number_and_share(name, text, _WLV, flags_in)
    what = "clauses whose subject disagrees with its verb or predicate, or with words of the same phrase"
    yield from number_and_share("subject_any", what, _WLV, _disagreeing_clauses)


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


def _dangling(words: Sequence[Word]) -> list[bool]:
    return [is_dangling(words, place) for place, word in enumerate(words) if word.upos == "DET"]


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
    measures = number_and_share("dangling", "determiners whose head is no noun", _WLV, _dangling)

    def read(self, annotated: Annotated) -> list[list[Word]]:
        return parsed(annotated)


PRONOMINAL, OTHER, DROPPED = "pronominal", "other", "dropped"
_VERBAL: Final = frozenset({"VP", "grup.verb", "gv"})
_PRONOUNS: Final = ("PRP", "p")  # tag prefixes of the Penn Treebank and of CESS
_WLV_PHRASES: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (by constituents)"


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
                tags = list(_tags(labels, below, before[-1])) if before else []
                pronominal = bool(tags) and all(tag.startswith(_PRONOUNS) for tag in tags)
                result.append((PRONOMINAL if pronominal else OTHER) if before else DROPPED)
    return result


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
            relative = words[place].feats.get("PronType", frozenset()) & {"Rel", "Int"}
            result.append(PRONOMINAL if words[place].upos == "PRON" and not relative else OTHER)
        elif not words[verb].has("Mood", "Imp"):
            result.append(DROPPED)
    return result


def _of_kind(clauses: Kinds, kind: str) -> list[bool] | None:
    return None if clauses is None else [own == kind for own in clauses]


_SUBJECTS: Final = {
    PRONOMINAL: "clauses whose subject is a pronoun",
    OTHER: "clauses whose subject is another word or a clause",
    DROPPED: "clauses without a subject",
}


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

    stem = "subjects"
    measures = tuple(
        measure
        for kind, what in _SUBJECTS.items()
        for measure in number_and_share(kind, what, _WLV_PHRASES, partial(_of_kind, kind=kind))
    )

    def read(self, annotated: Annotated) -> list[Kinds]:
        if self.parser == "dependencies":
            return list(map(kinds, parsed(annotated)))
        trees = Trees.from_brackets(annotated.parses, annotated.location, plain=True)
        return [kinds_before(trees, i) for i in range(len(trees))]
