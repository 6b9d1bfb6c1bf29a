"""Words of annotated texts with morphology, and heads if known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from features.basics.errors import InputError
from features.text.annotation import NOTHING, Annotated

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


def tagged(annotated: Annotated, heads: Sequence[int] = ()) -> list[list[Word]]:
    """Words (n,) of every text, without `heads` if none are given; raises InputError without UPOS."""
    forms, texts = annotated.tokens, list[list[Word]]()
    upos, lemma, feats, relations = (annotated.layer(n) for n in ("upos", "lemma", "feats", "deprel"))
    for i, (low, high) in enumerate(pairwise(forms.offsets.tolist())):
        tags = upos.words(i)
        if NOTHING in tags:
            raise InputError(
                f"the word {forms.words(i)[tags.index(NOTHING)]!r} has no part of speech",
                location=f"{annotated.location}, segment {i + 1}",
                remedy="give CoNLL-U with UPOS (column 4), or an annotator of parts of speech",
            )
        morphology = map(features_of, feats.words(i))
        above: Sequence[int | None] = heads[low:high] if heads else [None] * (high - low)
        kinds = (relation.partition(":")[0] for relation in relations.words(i))
        columns = forms.words(i), lemma.words(i), tags, morphology, above, kinds
        texts.append(list(map(Word, *columns)))
    return texts


def parsed(annotated: Annotated) -> list[list[Word]]:
    """Words (n,) like `tagged`, with heads and relations; raises InputError if they are missing."""
    return tagged(annotated, annotated.heads.tolist())


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


def is_finite(word: Word) -> bool:
    """Whether the morphology of a word has a person or a mood of finite verbs."""
    finite = word.has("VerbForm", "Fin") or bool(word.feats.get("Mood"))
    return word.upos in VERBAL and finite


def predicates(words: Sequence[Word], below: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """(place of the predicate, place of its finite verb) of every clause with a finite verb.

    The verb is the predicate, an auxiliary or a copula.

    >>> been = [Word("ha", "haber", "AUX", features_of("VerbForm=Fin"), 1, "aux"),
    ...         Word("sido", "ser", "VERB", features_of("VerbForm=Part"), -1, "root")]
    >>> predicates(been, children(been))
    [(1, 0)]
    """
    result = []
    for place, word in enumerate(words):
        own = [k for k in below[place] if words[k].relation in ("aux", "cop")]
        verb = next((k for k in [place, *own] if is_finite(words[k])), None)
        if verb is not None and word.relation not in ("aux", "cop"):
            result.append((place, verb))
    return result


def subject_of(words: Sequence[Word], below: Sequence[Sequence[int]], predicate: int) -> int | None:
    """Place of a predicate's subject, a word or a clause; None without one."""
    return next((k for k in below[predicate] if words[k].relation in ("nsubj", "csubj")), None)
