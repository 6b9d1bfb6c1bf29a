"""spaCy pipelines, by a small module with spaCy's documented interface in its place."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from features.basics.errors import InputError
from features.text.annotation import Annotated
from features.text.tokens import Tokens
from qe.language.taggers import tagger
from tests.factories import refuses

MODEL = "es_core_news_md"
TEXTS = [["Ana", "Ruiz", "vive", "en", "York", "."], [], ["Sí", ".", "Ana", "va"]]

# Word -> lemma, part of speech, tag, morphology, place of the head, relation, (IOB, type) of the entity.
Analysis = tuple[str, str, str, str, int, str, tuple[str, str]]
ANALYSES: dict[tuple[str, ...], list[Analysis]] = {
    ("Ana", "Ruiz", "vive", "en", "York", "."): [
        ("Ana", "PROPN", "PROPN__F", "Gender=Fem|Number=Sing", 2, "nsubj", ("B", "PER")),
        ("Ruiz", "PROPN", "PROPN__N", "", 0, "flat", ("I", "PER")),
        ("vivir", "VERB", "VERB__3", "Mood=Ind|Person=3", 2, "ROOT", ("O", "")),
        ("en", "ADP", "ADP__P", "", 4, "case", ("O", "")),
        ("York", "PROPN", "PROPN__N", "", 2, "obl", ("B", "LOC")),
        (".", "PUNCT", "PUNCT__D", "PunctType=Peri", 2, "punct", ("O", "")),
    ],
    ("Sí", ".", "Ana", "va"): [  # two sentences, two roots
        ("sí", "INTJ", "INTJ", "Polarity=Pos", 0, "ROOT", ("O", "")),
        (".", "PUNCT", "PUNCT__D", "PunctType=Peri", 0, "punct", ("O", "")),
        ("Ana", "PROPN", "PROPN__F", "", 3, "nsubj", ("B", "PER")),
        ("ir", "VERB", "VERB__3", "", 3, "ROOT", ("O", "")),
    ],
}


@dataclass(eq=False)
class Token:
    """A word; text where spaCy's attribute ends in `_`, empty while no component has set it."""

    doc: "Doc"
    i: int
    text: str
    lemma_: str = ""
    pos_: str = ""
    tag_: str = ""
    morph: str = ""
    dep_: str = ""
    ent_iob_: str = ""
    ent_type_: str = ""
    head_place: int | None = None

    @property
    def head(self) -> "Token":
        """The word itself where there is no parse, as in spaCy."""
        return self if self.head_place is None else self.doc[self.head_place]


class Doc:
    """Words as they are given, and what components have annotated."""

    def __init__(self, vocab: object, words: Sequence[str]) -> None:
        self.vocab = vocab
        self.tokens = [Token(self, i, word) for i, word in enumerate(words)]
        self.annotated: set[str] = set()

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)

    def __getitem__(self, place: int) -> Token:
        return self.tokens[place]

    def has_annotation(self, attribute: str) -> bool:
        assert attribute in ("TAG", "POS", "DEP", "ENT_IOB", "LEMMA", "MORPH")
        return attribute in self.annotated


@dataclass
class Language:
    """`nlp`: a vocabulary of its own, what it knows of itself, and its components."""

    components: tuple[str, ...] = ("tagger", "parser", "ner")
    meta: dict[str, str] = field(
        default_factory=lambda: {"lang": "es", "name": "core_news_md", "version": "3.7.0"}
    )
    vocab: object = field(default_factory=object)

    def pipe(self, docs: Iterable[Doc | str]) -> Iterator[Doc]:
        for doc in docs:
            assert isinstance(doc, Doc), "text would be tokenized anew"
            assert doc.vocab is self.vocab
            yield self._analysed(doc)

    def _analysed(self, doc: Doc) -> Doc:
        analyses = ANALYSES.get(tuple(token.text for token in doc), [])
        for token, (lemma, pos, tag, morph, head, relation, (iob, kind)) in zip(doc, analyses, strict=True):
            if "tagger" in self.components:
                token.lemma_, token.pos_, token.tag_, token.morph = lemma, pos, tag, morph
            if "parser" in self.components:
                token.head_place, token.dep_ = head, relation
                doc.annotated.add("DEP")
            if "ner" in self.components:
                token.ent_iob_, token.ent_type_ = iob, kind
                doc.annotated.add("ENT_IOB")
        return doc


def installed(monkeypatch: pytest.MonkeyPatch, **pipelines: Language) -> list[str]:
    """Puts the module in spaCy's place; what is loaded comes into the list."""
    loaded: list[str] = []

    def load(name: str) -> Language:
        loaded.append(name)
        if name not in pipelines:
            raise OSError(f"[E050] Can't find model '{name}'.")
        return pipelines[name]

    spacy: Any = ModuleType("spacy")
    tokens: Any = ModuleType("spacy.tokens")
    spacy.load, spacy.tokens, tokens.Doc = load, tokens, Doc
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    return loaded


def annotated(model: str = MODEL) -> Annotated:
    blocks = list(tagger(f"spacy:{model}", "es", "en").annotate(TEXTS))
    return Annotated(blocks, Tokens.from_lists(TEXTS), "annotation_target")


def test_every_layer_has_what_the_pipeline_says(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = installed(monkeypatch, es_core_news_md=Language())
    made = annotated()
    assert made.layer("lemma").words(0) == ["Ana", "Ruiz", "vivir", "en", "York", "."]
    assert made.layer("upos").words(0) == ["PROPN", "PROPN", "VERB", "ADP", "PROPN", "PUNCT"]
    assert made.layer("xpos").words(0) == [
        "PROPN__F", "PROPN__N", "VERB__3", "ADP__P", "PROPN__N", "PUNCT__D"
    ]  # fmt: skip
    assert made.layer("feats").words(0)[:3] == ["Gender=Fem|Number=Sing", "_", "Mood=Ind|Person=3"]
    assert made.layer("deprel").words(0) == ["nsubj", "flat", "root", "case", "obl", "punct"]
    assert made.entities == (((0, 2, "PER"), (4, 5, "LOC")), (), ((2, 3, "PER"),))
    assert loaded == [MODEL]


def test_heads_are_places_in_the_text_and_every_sentence_has_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, es_core_news_md=Language())
    made = annotated()
    np.testing.assert_array_equal(made.heads, [2, 0, -1, 4, 2, 2, -1, 0, 3, -1])
    assert made.layer("deprel").words(2) == ["root", "punct", "nsubj", "root"]
    assert made.layer("upos").words(1) == []


def test_what_a_pipeline_does_not_do_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a parser spaCy makes every word its own head, and no word is in an entity: neither is said."""
    installed(monkeypatch, es_core_news_md=Language(("tagger",)))
    made = annotated()
    assert made.layer("upos").words(2) == ["INTJ", "PUNCT", "PROPN", "VERB"]
    assert made.layer("deprel").words(2) == ["_"] * 4
    with pytest.raises(InputError, match="the word 'Ana' has no head"):
        _ = made.heads
    with pytest.raises(InputError, match="no entity tag"):
        _ = made.entities
    installed(monkeypatch, es_core_news_md=Language(("ner",)))
    assert annotated().layer("upos").words(2) == ["_"] * 4


@pytest.mark.parametrize("asked", ["blocks", "fingerprint"])
def test_what_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    def ask(model: str) -> Any:
        by = tagger(f"spacy:{model}", "es", "en")
        return list(by.annotate(TEXTS)) if asked == "blocks" else by.fingerprint

    installed(monkeypatch, es_core_news_md=Language())
    refuses("no pipeline 'es_big' here; python -m spacy download es_big", ask, "es_big")
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.tokens", None)
    refuses("the package spacy is not installed; pip install spacy", ask, MODEL)


def test_the_fingerprint_knows_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = Language(meta={"lang": "es", "name": "core_news_md", "version": "3.8.0"})
    prints = []
    for pipeline in (Language(), Language(), newer):
        installed(monkeypatch, es_core_news_md=pipeline)
        prints.append(tagger(f"spacy:{MODEL}", "es", "en").fingerprint)
    assert prints[0] == prints[1] != prints[2]
