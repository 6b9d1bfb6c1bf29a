"""Annotations: CoNLL-U layers of tokens, and Apertium's taggers."""

import shutil
from dataclasses import replace

import pytest

from features import Segments, Tokenizer
from features.basics.errors import InputError
from features.text.annotation import block_of, layer_tokens
from features.text.tokens import Tokens
from qe.language.made_columns import with_made_columns
from qe.language.taggers import ApertiumTagger, annotated, tagger
from tests.factories import refuses

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


def test_annotation_that_does_not_fit_names_the_segment() -> None:
    tokens = Tokens.from_lists([["a"], ["a", "b"]])
    block = block_of([("a", "a", "X", "_")])
    with pytest.raises(InputError, match="1 words, but the text 2 tokens") as raised:
        layer_tokens([block, block], tokens, "upos", "annotation_source")
    assert "annotation_source, segment 2" in str(raised.value)
    refuses("10 columns", layer_tokens, ["DET NOUN", block], tokens, "upos", "annotation_source")


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
    assert annotated(texts, by, tmp_path) == together and len(list(tmp_path.rglob("*.jsonl"))) == 1


@installed
def test_real_texts_are_annotated_alike_whatever_came_before(shared_data) -> None:  # type: ignore[no-untyped-def]
    """Line 150 of the blind test set read otherwise after the 149 before it in one process."""
    lines = (shared_data("wmt12-qe") / "test_set" / "source.eng").read_text("utf-8").splitlines()[:150]
    texts = Tokenizer("en").tokens(tuple(lines))
    words = [texts.words(i) for i in range(150)]
    by = tagger("apertium", "en", "es")
    assert list(by.annotate(words))[-5:] == list(by.annotate(words[-5:]))


def test_unknown_annotators_columns_and_languages_are_refused() -> None:
    given = segments(["a"], ["b"])
    with pytest.raises(InputError, match="unknown annotator 'treetagger'; known: apertium"):
        with_made_columns(given, {"annotation_source": "treetagger"})
    refuses("no program makes the column 'target'", with_made_columns, given, {"target": "apertium"})
    twice = replace(given, annotation_source=(block_of([("a", "a", "X", "_")]),))
    refuses("already", with_made_columns, twice, {"annotation_source": "apertium"})
    if shutil.which("apertium-tagger"):
        refuses("no tagger for zul-", list, ApertiumTagger("zul", "en").annotate([["a"]]))


@installed
def test_a_pseudo_reference_is_annotated_like_a_translation() -> None:
    given = segments(["x", "y"], ["La casa del gato .", "no"])
    given = replace(given, pseudo_reference=("La casa roja .", "La casa del gato ."))
    both = {"annotation_target": "apertium", "annotation_pseudo_reference": "apertium"}
    made = with_made_columns(given, both)
    assert made.annotation_target and made.annotation_pseudo_reference
    assert made.annotation_pseudo_reference[1] == made.annotation_target[0]
    assert column(made.annotation_pseudo_reference[0], 3) == ["DET", "NOUN", "ADJ", "PUNCT"]
