"""Annotators by name: trained folders, UDPipe models, spellers, link grammar; what is not there."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.basics.errors import InputError
from features.text.annotation import Annotated
from features.text.tokens import Tokens
from qe.language.made_columns import keep_annotators, kept_annotators, with_made_columns
from qe.language.taggers import tagger
from qe_treebanks.annotator_folder import train
from tests.factories import refuses
from tests.qe_treebanks.annotators.made import write_conllu

TEXTS = [["Ana", "miraaa", "el", "gato", "."], [], ["la", "casa"]]

hunspell = pytest.mark.skipif(
    shutil.which("hunspell") is None, reason="hunspell is not installed (apt: hunspell)"
)
link_parser = pytest.mark.skipif(
    shutil.which("link-parser") is None, reason="link-parser is not installed (apt: link-grammar)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("annotators")
    train("pos", [write_conllu(root / "t")], "es", root / "es", {"epochs": 2})
    return root / "es"


def test_segments_are_annotated_by_a_trained_folder(folder: Path, tmp_path: Path) -> None:
    given = Segments(("the house",), ("la casa mira el gato",), Tokenizer("en"), Tokenizer("es"))
    made = with_made_columns(given, {"annotation_target": str(folder)}, tmp_path)
    assert made.target_annotated.layer("upos").words(0) == ["DET", "NOUN", "VERB", "DET", "NOUN"]
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1
    with pytest.raises(InputError, match="holds annotators of 'es', but the text is 'en'"):
        with_made_columns(given, {"annotation_source": str(folder)})
    with pytest.raises(InputError, match="no head"):
        _ = made.target_annotated.heads


def test_a_model_keeps_its_annotators(folder: Path, tmp_path: Path) -> None:
    """Moved away with the model, they work without the folder that they came from."""
    columns = {"annotation_target": f"{folder}+hunspell", "pseudo_reference": "apertium"}
    kept = keep_annotators(columns, tmp_path / "new")
    assert kept == {
        "annotation_target": "./annotators/annotation_target+hunspell", "pseudo_reference": "apertium"
    }  # fmt: skip
    shutil.move(tmp_path / "new", tmp_path / "elsewhere")
    outcome = kept_annotators(kept, tmp_path / "elsewhere")
    assert outcome["pseudo_reference"] == "apertium"
    place = outcome["annotation_target"].removesuffix("+hunspell")
    assert Path(place) == tmp_path / "elsewhere/annotators/annotation_target"
    assert tagger(place, "es", "en").fingerprint == tagger(str(folder), "es", "en").fingerprint


@pytest.mark.slow
@hunspell
def test_unknown_words_are_marked_beside_other_annotation(folder: Path) -> None:
    blocks = list(tagger(f"{folder}+hunspell", "es", "en").annotate(TEXTS))
    annotated = Annotated(blocks, Tokens.from_lists(TEXTS), "x")
    assert annotated.layer("upos").words(2) == ["DET", "NOUN"]
    assert annotated.misspelled.tolist() == [False, True, *[False] * 5]
    with pytest.raises(InputError, match="no speller was asked"):
        _ = Annotated(
            list(tagger(str(folder), "es", "en").annotate(TEXTS)), Tokens.from_lists(TEXTS), "x"
        ).misspelled
    with pytest.raises(
        InputError, match="no dictionary of 'eo' here; on Debian: apt-get install hunspell-eo"
    ):
        list(tagger("hunspell", "eo", "en").annotate(TEXTS))


@pytest.mark.slow
@link_parser
def test_link_grammar_tells_sentences_from_salad() -> None:
    texts = [
        ["The", "cat", "sleeps", "on", "the", "mat", "."],
        ["!", "file", "x"],
        [],
        ["Cat", "the", "of", "of"],
    ]
    blocks = list(tagger("link-grammar", "en", "es").annotate(texts))
    annotated = Annotated(blocks, Tokens.from_lists(texts), "x")
    unused = annotated.values("link_grammar_unused")
    assert unused[0] == 0 and annotated.values("link_grammar_linkages")[0] >= 1
    assert np.isnan(unused[2]) and unused[3] > 0
    assert annotated.values("link_grammar_length")[0] > 0
    refuses("parses English", list, tagger("link-grammar", "es", "en").annotate(texts))


def test_programs_that_are_not_there_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for name, language, remedy in (
        ("hunspell", "es", "apt-get install hunspell hunspell-es"),
        ("link-grammar", "en", "apt-get install link-grammar"),
    ):
        refuses(remedy, list, tagger(name, language, "en").annotate(TEXTS))
    for package in ("spacy", "stanza"):
        if importlib.util.find_spec(package) is None:
            with pytest.raises(
                InputError, match=f"the package {package} is not installed; pip install {package}"
            ):
                _ = tagger(f"{package}:es", "es", "en").fingerprint


@pytest.mark.slow
def test_udpipe_models_of_users_run(tmp_path: Path) -> None:
    """Trained by UDPipe itself; its tags are those of the made language."""
    udpipe = pytest.importorskip("ufal.udpipe")
    text = write_conllu(tmp_path / "t").read_text("utf-8")
    reader, sentences = udpipe.InputFormat.newConlluInputFormat(), udpipe.Sentences()
    reader.setText(text)
    sentence, error = udpipe.Sentence(), udpipe.ProcessingError()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    tagging = "iterations=2;guesser_suffix_rules=2;guesser_enrich_dictionary=1;guesser_prefixes_max=0"
    none = udpipe.Sentences()
    model = udpipe.Trainer.train("morphodita_parsito", sentences, none, "none", tagging, "none", error)
    (tmp_path / "es.udpipe").write_bytes(model)
    by = tagger(f"udpipe:{tmp_path / 'es.udpipe'}", "es", "en")
    blocks = list(by.annotate([["la", "casa", "mira", "Ana"], []]))
    annotated = Annotated(blocks, Tokens.from_lists([["la", "casa", "mira", "Ana"], []]), "x")
    assert annotated.layer("upos").words(0) == ["DET", "NOUN", "VERB", "PROPN"]
    (tmp_path / "bad").write_bytes(b"no model")
    with pytest.raises(InputError, match="is no model that UDPipe can read"):
        list(tagger(f"udpipe:{tmp_path / 'bad'}", "es", "en").annotate([["a"]]))
