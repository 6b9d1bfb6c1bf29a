"""Stanza pipelines, by a small module with Stanza's documented interface in its place."""

import importlib.metadata
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import qe.language.user_models
from features.basics.errors import InputError
from features.text.annotation import Annotated
from features.text.tokens import Tokens
from qe.language.taggers import tagger
from tests.factories import refuses

TEXTS = [["Ana", "Ruiz", "vive"], [], ["la", "casa"], [], ["va"]]
ALL = ("tokenize", "mwt", "pos", "lemma", "depparse", "ner", "constituency", "sentiment")
# What Stanza lists of every language; a name that is another one's alias.
RESOURCES: Mapping[str, Any] = {
    "es": {name: {"combined": {}} for name in ALL} | {"packages": {"default": {}}, "lang_name": "Spanish"},
    "la": {name: {"ittb": {}} for name in ("tokenize", "pos", "lemma", "depparse")},
    "zh": {"alias": "zh-hans"},
    "zh-hans": {name: {"gsd": {}} for name in ("tokenize", "pos", "ner")},
    "url": "https://huggingface.co/stanfordnlp",
}


@dataclass
class Word:
    """A syntactic word; None while no processor has set an attribute."""

    id: int
    text: str
    lemma: str | None = None
    upos: str | None = None
    xpos: str | None = None
    feats: str | None = None
    head: int | None = None
    deprel: str | None = None


@dataclass
class Token:
    id: tuple[int, ...]
    text: str
    words: list[Word]
    ner: str | None = None


class Tree:
    def __str__(self) -> str:
        return "(ROOT (S (sn (PROPN Ana) (PROPN Ruiz)) (VERB vive)))"


@dataclass
class Sentence:
    tokens: list[Token]
    constituency: Tree | None = None


@dataclass
class Document:
    sentences: list[Sentence]


# Word -> lemma, upos, xpos, feats, head (from 1; 0: root), relation, entity tag in BIOES.
ANALYSES: Mapping[str, tuple[str, str, str | None, str | None, int, str, str]] = {
    "Ana": ("Ana", "PROPN", "np00000", "Gender=Fem", 3, "nsubj", "B-PER"),
    "Ruiz": ("Ruiz", "PROPN", "np00000", None, 1, "flat", "E-PER"),
    "vive": ("vivir", "VERB", "vmip3s0", "Person=3", 0, "root", "O"),
    "la": ("el", "DET", "da0fs0", "Gender=Fem", 2, "det", "O"),
    "casa": ("casa", "NOUN", None, None, 0, "root", "S-LOC"),
    "va": ("ir", "VERB", "vmip3s0", None, 0, "root", "O"),
}


class Pipeline:
    """Models that are on this machine: of all listed languages, but for `missing`."""

    made: list["Pipeline"]
    missing: tuple[str, ...] = ()

    def __init__(
        self,
        lang: str = "en",
        dir: str = "~/stanza_resources",
        package: str = "default",
        processors: str = "",
        download_method: int | None = 3,
        verbose: bool | None = None,
        **settings: Any,
    ) -> None:
        names = processors.split(",")
        if not set(names) <= set(ALL):
            raise ValueError(f"Unknown processor type requested: {processors}")
        assert download_method is None, "would be downloaded"
        if lang in self.missing:
            raise FileNotFoundError(f'Perhaps you need to run stanza.download("{lang}")')
        self.lang, self.settings, self.calls = lang, settings, list[int]()
        self.processors = dict.fromkeys(names, object())
        self.made.append(self)

    def __call__(self, texts: Sequence[Sequence[str]]) -> Document:
        assert self.settings == {"tokenize_pretokenized": True}
        assert isinstance(texts, list) and all(texts), "an empty sentence is an error"
        self.calls.append(len(texts))
        return Document([self._analysed(text) for text in texts])

    def _analysed(self, text: Sequence[str]) -> Sentence:
        tokens = [self._token(place, word) for place, word in enumerate(text, start=1)]
        tree = Tree() if "constituency" in self.processors and text[0] == "Ana" else None
        return Sentence(tokens, constituency=tree)

    def _token(self, place: int, text: str) -> Token:
        lemma, upos, xpos, feats, head, relation, entity = ANALYSES[text]
        word = Word(place, text)
        if "pos" in self.processors:
            word.upos, word.xpos, word.feats = upos, xpos, feats
        if "lemma" in self.processors:
            word.lemma = lemma
        if "depparse" in self.processors:
            word.head, word.deprel = head, relation
        return Token((place,), text, [word], entity if "ner" in self.processors else None)


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch) -> list[Pipeline]:
    """The module in Stanza's place; the pipelines that are made come into the list."""
    stanza: Any = ModuleType("stanza")
    resources: Any = ModuleType("stanza.resources")
    common: Any = ModuleType("stanza.resources.common")
    stanza.Pipeline, stanza.resources, resources.common = Pipeline, resources, common
    common.load_resources_json = lambda: RESOURCES
    for module in (stanza, resources, common):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    made: list[Pipeline] = []
    monkeypatch.setattr(Pipeline, "made", made, raising=False)
    given = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "1.10.1" if name == "stanza" else given(name)
    )
    return made


def annotated(language: str = "es") -> Annotated:
    blocks = list(tagger(f"stanza:{language}", language, "en").annotate(TEXTS))
    return Annotated(blocks, Tokens.from_lists(TEXTS), "annotation_target")


def test_every_layer_has_what_the_pipeline_says(pipelines: list[Pipeline]) -> None:
    made = annotated()
    assert made.layer("lemma").words(0) == ["Ana", "Ruiz", "vivir"]
    assert made.layer("upos").words(0) == ["PROPN", "PROPN", "VERB"]
    assert made.layer("xpos").words(2) == ["da0fs0", "_"]
    assert made.layer("feats").words(0) == ["Gender=Fem", "_", "Person=3"]
    assert made.layer("deprel").words(0) == ["nsubj", "flat", "root"]
    np.testing.assert_array_equal(made.heads, [2, 0, -1, 1, -1, -1])
    assert made.entities == (((0, 2, "PER"),), (), ((1, 2, "LOC"),), (), ())
    assert made.trees == ("(ROOT (S (sn (PROPN Ana) (PROPN Ruiz)) (VERB vive)))", "", "", "", "")
    assert [set(one.processors) for one in pipelines] == [set(ALL) - {"mwt", "sentiment"}]


@pytest.mark.parametrize("together", [1, 2, 3, 200])
def test_texts_keep_their_places_in_every_batch(
    pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Empty texts are not shown to the pipeline, and have empty blocks."""
    monkeypatch.setattr(qe.language.user_models, "_TEXTS", together)
    made = annotated()
    assert [made.layer("lemma").words(i) for i in range(5)] == [
        ["Ana", "Ruiz", "vivir"], [], ["el", "casa"], [], ["ir"]
    ]  # fmt: skip
    assert [block == "" for block in made.blocks] == [False, True, False, True, False]
    expected = {1: [1, 1, 1], 2: [1, 1, 1], 3: [2, 1], 200: [3]}
    assert pipelines[0].calls == expected[together]


def test_only_what_a_language_has_is_asked_for(pipelines: list[Pipeline]) -> None:
    made = annotated("la")
    assert set(pipelines[0].processors) == {"tokenize", "pos", "lemma", "depparse"}
    assert made.heads.tolist() == [2, 0, -1, 1, -1, -1]
    with pytest.raises(InputError, match="no entity tag"):
        _ = made.entities
    other = annotated("zh")  # the name of another
    assert set(pipelines[1].processors) == {"tokenize", "pos", "ner"}
    assert other.layer("lemma").words(0) == ["_"] * 3
    with pytest.raises(InputError, match="the word 'Ana' has no head"):
        _ = other.heads


@pytest.mark.parametrize("asked", ["blocks", "fingerprint"])
def test_what_is_missing(pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    def ask(language: str) -> Any:
        by = tagger(f"stanza:{language}", language, "en")
        return list(by.annotate(TEXTS)) if asked == "blocks" else by.fingerprint

    def no_list() -> Any:
        raise FileNotFoundError("Resources file not found at: ~/stanza_resources/resources.json")

    refuses(r"no models of 'eo' here.*stanza\.download\('eo'\)", ask, "eo")
    monkeypatch.setattr(Pipeline, "missing", ("es",))
    refuses(r"no models of 'es' here.*stanza\.download\('es'\)", ask, "es")
    monkeypatch.setattr(sys.modules["stanza.resources.common"], "load_resources_json", no_list)
    refuses(r"no models of 'la' here.*Resources file not found", ask, "la")
    monkeypatch.setitem(sys.modules, "stanza", None)
    refuses("the package stanza is not installed; pip install stanza", ask, "es")


def test_the_fingerprint_knows_versions(pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch) -> None:
    first = tagger("stanza:es", "es", "en").fingerprint
    assert tagger("stanza:es", "es", "en").fingerprint == first
    assert tagger("stanza:la", "la", "en").fingerprint != first
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.11.0")
    assert tagger("stanza:es", "es", "en").fingerprint != first
