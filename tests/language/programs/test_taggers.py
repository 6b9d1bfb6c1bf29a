"""Annotators by name: layers, Apertium's taggers, folders, UDPipe, spellers, link grammar."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.text.annotation import Annotated, layer_tokens
from features.text.tokens import Tokens
from qe.language.made_columns import keep_annotators, kept_annotators, with_made_columns
from qe.language.taggers import annotated, tagger
from qe_treebanks.annotator_folder import train
from tests.factories import refuses
from tests.qe_treebanks.annotators.made import write_conllu

installed = pytest.mark.skipif(
    shutil.which("apertium-tagger") is None, reason="apertium-tagger is not installed (apt: apertium)"
)


def segments(sources: list[str], targets: list[str]) -> Segments:
    return Segments(tuple(sources), tuple(targets), Tokenizer("en"), Tokenizer("es"))


def column(block: str, index: int) -> list[str]:
    return [line.split("\t")[index] for line in block.split("\n")]


def test_layers_of_a_block_with_comments_ranges_and_empty_nodes() -> None:
    rest = "\t_" * 5
    lines = [
        "# text = vámonos ya", "1-2\tvámonos\t_\t_\t_" + rest, "1\tvamos\tir\tVERB\tv" + rest,
        "2\tnos\tnosotros\tPRON\tp" + rest, "2.1\tx\tx\tX\tx" + rest, "3\tya\tya\tADV\ta" + rest,
    ]  # fmt: skip
    tokens = Tokens.from_lists([["vamos", "nos", "ya"]])
    listed = [layer_tokens(["\n".join(lines)], tokens, layer, "annotation_target").words(0)
             for layer in ("lemma", "upos", "xpos")]  # fmt: skip
    assert listed == [["ir", "nosotros", "ya"], ["VERB", "PRON", "ADV"], ["v", "p", "a"]]


@pytest.mark.slow
@installed
def test_apertium_tags_words_in_context() -> None:
    """Parts of speech as any grammar of the two languages has them; `New York` is one name."""
    given = segments(["The government approved a new law in New York ."], ["La casa del gato negro la vi ."])
    made = with_made_columns(given, {"annotation_source": "apertium", "annotation_target": "apertium"})
    assert made.annotation_source and made.annotation_target
    tags = ["DET", "NOUN", "VERB", "DET", "ADJ", "NOUN", "ADP", "PROPN", "PROPN", "PUNCT"]
    assert column(made.annotation_source[0], 3) == tags
    assert column(made.annotation_target[0], 3)[:5] == ["DET", "NOUN", "ADP", "NOUN", "ADJ"]
    assert column(made.annotation_target[0], 2)[:5] == ["el", "casa", "de", "gato", "negro"]
    assert column(made.annotation_target[0], 4)[1] == "n.f.sg"


@installed
def test_every_token_is_annotated_whatever_it_is() -> None:
    odd = "a^b $x </s> [1] \\ @ | * ~ + # \u00ad \u200b \U0001f642 e\u0301 \x07 ." * 2
    given = segments([odd, "", "\u00ad", "The cat sat ."], ["x", "y", "z", "w"])
    made = with_made_columns(given, {"annotation_source": "apertium"})
    outcome = layer_tokens(
        made.require("annotation_source"), given.source_tokens, "upos", "annotation_source"
    )
    assert outcome.offsets.tolist() == given.source_tokens.offsets.tolist()
    assert outcome.words(3) == ["DET", "NOUN", "VERB", "PUNCT"]


@pytest.mark.slow
@installed
def test_one_text_is_annotated_as_in_a_batch(tmp_path) -> None:  # type: ignore[no-untyped-def]
    texts = Tokens.from_lists([["the", "cats", "run"], ["a", "run", "."], [], ["they", "run"]])
    by = tagger("apertium", "en", "es")
    together = annotated(texts, by, tmp_path)
    alone = [annotated(Tokens.from_lists([texts.words(i)]), by, None)[0] for i in range(len(texts))]
    assert list(together) == alone
    assert annotated(texts, by, tmp_path) == together and len(list(tmp_path.rglob("annotations/*.npz"))) == 1


@installed
def test_real_texts_are_annotated_alike_whatever_came_before(shared_data) -> None:  # type: ignore[no-untyped-def]
    """Line 150 of the blind test set read otherwise after the 149 before it in one process."""
    lines = (shared_data("wmt12-qe") / "test_set" / "source.eng").read_text("utf-8").splitlines()[:150]
    texts = Tokenizer("en").tokens(tuple(lines))
    words = [texts.words(i) for i in range(150)]
    by = tagger("apertium", "en", "es")
    assert list(by.annotate(words))[-5:] == list(by.annotate(words[-5:]))


@installed
def test_a_pseudo_reference_is_annotated_like_a_translation() -> None:
    given = segments(["x", "y"], ["La casa del gato .", "no"])
    given = replace(given, pseudo_reference=("La casa roja .", "La casa del gato ."))
    both = {"annotation_target": "apertium", "annotation_pseudo_reference": "apertium"}
    made = with_made_columns(given, both)
    assert made.annotation_target and made.annotation_pseudo_reference
    assert made.annotation_pseudo_reference[1] == made.annotation_target[0]
    assert column(made.annotation_pseudo_reference[0], 3) == ["DET", "NOUN", "ADJ", "PUNCT"]


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
    assert len(list(tmp_path.rglob("annotations/*.npz"))) == 1
    refuses("holds annotators of 'es'", with_made_columns, given, {"annotation_source": str(folder)})
    refuses("has no head", lambda: made.target_annotated.heads)


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
    bare = Annotated(list(tagger(str(folder), "es", "en").annotate(TEXTS)), Tokens.from_lists(TEXTS), "x")
    refuses("no speller was asked", lambda: bare.misspelled)
    refuses("'eo' here; .*install hunspell-eo", list, tagger("hunspell", "eo", "en").annotate(TEXTS))


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
    bad = tagger(f"udpipe:{tmp_path / 'bad'}", "es", "en")
    refuses("bad: is no model", list, bad.annotate([["a"]]))
