"""spaCy and Stanza pipelines, by small modules with their documented interfaces in their place."""

import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qe.language.user_models
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


# Text that spaCy's attributes hold while no component has set them.
UNSET = dict.fromkeys(("lemma_", "pos_", "tag_", "morph", "dep_", "ent_iob_", "ent_type_"), "")


class Doc:
    """Words as they are given, each its own head, and what components have annotated."""

    def __init__(self, vocab: object, words: Sequence[str]) -> None:
        self.vocab, self.annotated = vocab, set[str]()
        self.tokens: list[Any] = [SimpleNamespace(i=i, text=word, **UNSET) for i, word in enumerate(words)]
        for token in self.tokens:
            token.doc, token.head = self, token

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tokens)

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
                token.head, token.dep_ = doc.tokens[head], relation
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
    refuses("the word 'Ana' has no head", lambda: made.heads)
    refuses("no entity tag", lambda: made.entities)
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


TEXTS_OF_STANZA = [["Ana", "Ruiz", "vive"], [], ["la", "casa"], [], ["va"]]
ALL = ("tokenize", "mwt", "pos", "lemma", "depparse", "ner", "constituency", "sentiment")
# What Stanza lists of every language; a name that is another one's alias.
RESOURCES: Mapping[str, Any] = {
    "es": {name: {"combined": {}} for name in ALL} | {"packages": {"default": {}}, "lang_name": "Spanish"},
    "la": {name: {"ittb": {}} for name in ("tokenize", "pos", "lemma", "depparse")},
    "zh": {"alias": "zh-hans"},
    "zh-hans": {name: {"gsd": {}} for name in ("tokenize", "pos", "ner")},
    "url": "https://huggingface.co/stanfordnlp",
}


TREE = "(ROOT (S (sn (PROPN Ana) (PROPN Ruiz)) (VERB vive)))"
NOTHING_SET = dict.fromkeys(("lemma", "upos", "xpos", "feats", "head", "deprel"))
# Word -> lemma, upos, xpos, feats, head (from 1; 0: root), relation, entity tag in BIOES.
ANALYSES_OF_STANZA: Mapping[str, tuple[str, str, str | None, str | None, int, str, str]] = {
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

    def __init__(self, lang: str, processors: str, download_method: int | None = 3, **settings: Any) -> None:
        names = processors.split(",")
        if not set(names) <= set(ALL):
            raise ValueError(f"Unknown processor type requested: {processors}")
        assert download_method is None, "would be downloaded"
        if lang in self.missing:
            raise FileNotFoundError(f'Perhaps you need to run stanza.download("{lang}")')
        self.lang, self.settings, self.calls = lang, settings, list[int]()
        self.processors = dict.fromkeys(names, object())
        self.made.append(self)

    def __call__(self, texts: Sequence[Sequence[str]]) -> Any:
        assert self.settings["tokenize_pretokenized"] is True
        assert isinstance(texts, list) and all(texts), "an empty sentence is an error"
        self.calls.append(len(texts))
        return SimpleNamespace(sentences=[self._analysed(text) for text in texts])

    def _analysed(self, text: Sequence[str]) -> Any:
        tokens = [self._token(place, word) for place, word in enumerate(text, start=1)]
        tree = TREE if "constituency" in self.processors and text[0] == "Ana" else None
        return SimpleNamespace(tokens=tokens, constituency=tree)

    def _token(self, place: int, text: str) -> Any:
        lemma, upos, xpos, feats, head, relation, entity = ANALYSES_OF_STANZA[text]
        word: Any = SimpleNamespace(id=place, text=text, **NOTHING_SET)
        if "pos" in self.processors:
            word.upos, word.xpos, word.feats = upos, xpos, feats
        if "lemma" in self.processors:
            word.lemma = lemma
        if "depparse" in self.processors:
            word.head, word.deprel = head, relation
        entity = entity if "ner" in self.processors else None
        return SimpleNamespace(id=(place,), text=text, words=[word], ner=entity)


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


def stanza_annotated(language: str = "es") -> Annotated:
    blocks = list(tagger(f"stanza:{language}", language, "en").annotate(TEXTS_OF_STANZA))
    return Annotated(blocks, Tokens.from_lists(TEXTS_OF_STANZA), "annotation_target")


def test_stanza_every_layer_has_what_the_pipeline_says(pipelines: list[Pipeline]) -> None:
    made = stanza_annotated()
    assert made.layer("lemma").words(0) == ["Ana", "Ruiz", "vivir"]
    assert made.layer("upos").words(0) == ["PROPN", "PROPN", "VERB"]
    assert made.layer("xpos").words(2) == ["da0fs0", "_"]
    assert made.layer("feats").words(0) == ["Gender=Fem", "_", "Person=3"]
    assert made.layer("deprel").words(0) == ["nsubj", "flat", "root"]
    np.testing.assert_array_equal(made.heads, [2, 0, -1, 1, -1, -1])
    assert made.entities == (((0, 2, "PER"),), (), ((1, 2, "LOC"),), (), ())
    assert made.trees == (TREE, "", "", "", "")
    assert [set(one.processors) for one in pipelines] == [set(ALL) - {"mwt", "sentiment"}]


@pytest.mark.parametrize("together", [1, 2, 3, 200])
def test_texts_keep_their_places_in_every_batch(
    pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Empty texts are not shown to the pipeline, and have empty blocks."""
    monkeypatch.setattr(qe.language.user_models, "_TEXTS", together)
    made = stanza_annotated()
    assert [made.layer("lemma").words(i) for i in range(5)] == [
        ["Ana", "Ruiz", "vivir"], [], ["el", "casa"], [], ["ir"]
    ]  # fmt: skip
    assert [block == "" for block in made.blocks] == [False, True, False, True, False]
    expected = {1: [1, 1, 1], 2: [1, 1, 1], 3: [2, 1], 200: [3]}
    assert pipelines[0].calls == expected[together]


def test_only_what_a_language_has_is_asked_for(pipelines: list[Pipeline]) -> None:
    made = stanza_annotated("la")
    assert set(pipelines[0].processors) == {"tokenize", "pos", "lemma", "depparse"}
    assert made.heads.tolist() == [2, 0, -1, 1, -1, -1]
    refuses("no entity tag", lambda: made.entities)
    other = stanza_annotated("zh")  # the name of another
    assert set(pipelines[1].processors) == {"tokenize", "pos", "ner"}
    assert other.layer("lemma").words(0) == ["_"] * 3
    refuses("the word 'Ana' has no head", lambda: other.heads)


@pytest.mark.parametrize("asked", ["blocks", "fingerprint"])
def test_what_is_missing(pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    def ask(language: str) -> Any:
        by = tagger(f"stanza:{language}", language, "en")
        return list(by.annotate(TEXTS_OF_STANZA)) if asked == "blocks" else by.fingerprint

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
