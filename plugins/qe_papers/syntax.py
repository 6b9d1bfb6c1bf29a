"""Words of annotated texts with morphology, and heads if known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from features.basics.errors import InputError
from features.text.annotation import NOTHING, Annotated

NOMINAL: Final = frozenset({"NOUN", "PROPN", "PRON"})
VERBAL: Final = frozenset({"VERB", "AUX"})
_NOTHING_KNOWN: Final[Mapping[str, frozenset[str]]] = {}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    feats     morphology, name -> values (`Number` -> {`Sing`}; two if the form is ambiguous)
    head      place of its head in the text, -1: none; None if dependencies were not requested
    relation  relation to its head, without a subtype (`nsubj` for `nsubj:pass`)
    """

    form: str
    lemma: str
    upos: str
    feats: Mapping[str, frozenset[str]] = field(default_factory=dict)
    head: int | None = None
    relation: str = ""

    def has(self, name: str, value: str) -> bool:
        """Whether its morphology has the value.

        >>> Word("casas", "casa", "NOUN", features_of("Number=Plur")).has("Number", "Plur")
        True
        """
        return value in self.feats.get(name, ())


@lru_cache(maxsize=20_000)
def features_of(text: str) -> Mapping[str, frozenset[str]]:
    """Parses the column FEATS of CoNLL-U.

    >>> sorted((name, sorted(values)) for name, values in features_of("Case=Acc,Nom|Number=Sing").items())
    [('Case', ['Acc', 'Nom']), ('Number', ['Sing'])]
    """
    if text == NOTHING:
        return _NOTHING_KNOWN
    pairs = (part.partition("=") for part in text.split("|"))
    return {name: frozenset(values.split(",")) for name, _, values in pairs if values}


def tagged(annotated: Annotated) -> list[list[Word]]:
    """Words (n,) of every text without heads; raises InputError if a word has no part of speech."""
    return [list(words) for words in _texts(annotated, None)]


def parsed(annotated: Annotated) -> list[list[Word]]:
    """Words (n,) like `tagged`, with heads and relations; raises InputError if they are missing."""
    return [list(words) for words in _texts(annotated, annotated.heads.tolist())]


def _texts(annotated: Annotated, heads: Sequence[int] | None) -> Iterable[Iterable[Word]]:
    forms = annotated.tokens
    upos, lemma, feats, relations = (annotated.layer(n) for n in ("upos", "lemma", "feats", "deprel"))
    for i, first in enumerate(forms.offsets[:-1].tolist()):
        tags = upos.words(i)
        if NOTHING in tags:
            raise InputError(
                f"the word {forms.words(i)[tags.index(NOTHING)]!r} has no part of speech",
                location=f"{annotated.location}, segment {i + 1}",
                remedy="give CoNLL-U with UPOS (column 4), or an annotator of parts of speech",
            )
        columns = zip(forms.words(i), lemma.words(i), tags, feats.words(i), relations.words(i), strict=True)
        yield (
            Word(
                form, base, tag, features_of(features), None if heads is None else heads[first + k],
                relation.partition(":")[0],
            )
            for k, (form, base, tag, features, relation) in enumerate(columns)
        )  # fmt: skip


def children(words: Sequence[Word]) -> list[list[int]]:
    """Places of every word's dependants, in text order.

    >>> children([Word("el", "el", "DET", head=1), Word("mar", "mar", "NOUN", head=-1)])
    [[], [0]]
    """
    result: list[list[int]] = [[] for _ in words]
    for place, word in enumerate(words):
        if word.head is not None and word.head >= 0:
            result[word.head].append(place)
    return result


def finite_verb(words: Sequence[Word], below: Sequence[Sequence[int]], place: int) -> int | None:
    """Place of the finite verb of the predicate at `place`: the word, an auxiliary or a copula; else None.

    >>> been = [Word("ha", "haber", "AUX", features_of("VerbForm=Fin"), 1, "aux"),
    ...         Word("sido", "ser", "VERB", features_of("VerbForm=Part"), -1, "root")]
    >>> finite_verb(been, children(been), 1)
    0
    """
    own = [k for k in below[place] if words[k].relation in ("aux", "cop")]
    return next((k for k in [place, *own] if is_finite(words[k])), None)


def is_finite(word: Word) -> bool:
    """Whether the morphology of a word has a person or a mood of finite verbs."""
    finite = word.has("VerbForm", "Fin") or bool(word.feats.get("Mood"))
    return word.upos in VERBAL and finite


def predicates(words: Sequence[Word], below: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """(place of the predicate, place of its finite verb) of every clause with a finite verb."""
    result = []
    for place, word in enumerate(words):
        verb = finite_verb(words, below, place) if word.relation not in ("aux", "cop") else None
        if verb is not None:
            result.append((place, verb))
    return result


def subject_of(words: Sequence[Word], below: Sequence[Sequence[int]], predicate: int) -> int | None:
    """Place of a predicate's subject, a word or a clause; None without one."""
    return next((k for k in below[predicate] if words[k].relation in ("nsubj", "csubj")), None)
