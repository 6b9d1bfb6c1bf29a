"""The tokenizer against sacremoses, on the shared data and on made-up lines."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from features.basics.distinct import intern_chunks
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer, composed, normalise
from features.text.tokens import Tokens
from tests.factories import Find

LANGUAGES = ("en", "es", "de", "ro")
FOLDERS = ("parallel", "wmt12-qe", "mlqe-pe", "alignment", "golden")

# What the rules of Moses say something about, and a few words to say it of.
PIECES = st.sampled_from(
    ["a", "B", "é", "5", "3,5", "U.S", "No", "Mr", "e.g", ".", ",", "'", "''", "`", "-", "--", "...", "..",
     "’", '"', "“", "%", "$", "&", "…", "s", "don't", "'s", "L'", "\x01", "\x1c", "\x85", "\u00a0", "\u2009",
     " ", "  ", "\t", "\n", "DOTMULTI", "DOTDOTMULTI", "|", "<b>", "ß", "ͅ", "你", "¿", "ˢ", "\u0301", "😀",
     "_", "/", "\\"]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=12).map("".join)


def sacremoses(line: str, language: str, normalised: bool) -> list[str]:
    text = composed(line)  # as every text here
    text = normalise(text) if normalised else text
    return list(MosesTokenizer(language).tokenize(text, escape=False))


def as_batch(tokenizer: Tokenizer, lines: list[str]) -> Tokens:
    """The tokens of a few lines, worked out as those of a batch of many are."""
    tokens = tokenizer.tokens(lines * 16)
    return tokens.take(np.arange(len(lines)))


def sample(path: Path, size: int) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        lines = stream.read().split("\n")
    return random.Random(path.name).sample(lines, min(size, len(lines)))


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("language", LANGUAGES)
def test_equals_sacremoses_on_shared_files(shared_data: Find, language: str, normalised: bool) -> None:
    files = [f for folder in FOLDERS for f in sorted(shared_data(folder).rglob("*")) if f.is_file()]
    lines = [line for f in files for line in sample(f, 20)]
    tokenizer = Tokenizer(language, normalise=normalised)
    tokens = tokenizer.tokens(lines)
    assert len(lines) > 1500
    for i, line in enumerate(lines):
        expected = sacremoses(line, language, normalised)
        assert tokens.words(i) == expected
        assert tokenizer.split(line) == expected


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINES, max_size=4), st.sampled_from((*LANGUAGES, "fr")), st.booleans())
def test_equals_sacremoses_on_invented_lines(lines: list[str], language: str, normalised: bool) -> None:
    tokenizer = Tokenizer(language, normalise=normalised)
    expected = [sacremoses(line, language, normalised) for line in lines]
    tokens = as_batch(tokenizer, lines)
    assert [tokens.words(i) for i in range(len(lines))] == expected
    assert [tokenizer.split(line) for line in lines] == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    ["' '5", "x ' \x01 '5", "it' '5 and ' 'x", "5, ,5", ",5", "a ,5", "'tis", "end.'", "end.' go", "Mr. 5",
     "No. 5", "No. x", "Fig. A", "U.S. a", "a \x01 b", "\x01", "x. \x01 y", "a. b", "a. 5", "a.", "wait...",
     "wait... no", "''", "....", "1,2,"],
)  # fmt: skip
@pytest.mark.parametrize("language", LANGUAGES)
def test_equals_sacremoses_where_rules_look_beyond_a_chunk(line: str, language: str) -> None:
    tokenizer = Tokenizer(language)
    assert as_batch(tokenizer, [line]).words(0) == sacremoses(line, language, True)
    assert tokenizer.tokens([line]).words(0) == sacremoses(line, language, True)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINES, max_size=6), st.sampled_from(["moses", "whitespace"]))
def test_types_are_in_order_of_first_occurrence(lines: list[str], kind: str) -> None:
    tokenizer = Tokenizer("en", kind)  # type: ignore[arg-type]
    lines = lines * 16
    tokens, expected = tokenizer.tokens(lines), Tokens.from_lists(map(tokenizer.split, lines))
    assert tokens.types == expected.types
    assert np.array_equal(tokens.ids, expected.ids) and tokens.ids.dtype == np.int32
    assert np.array_equal(tokens.offsets, expected.offsets)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=8), max_size=4))
def test_chunks_are_those_of_str_split(texts: list[str]) -> None:
    chunks, ids, offsets = intern_chunks(texts)
    expected = Tokens.from_lists(text.split() for text in texts)
    assert tuple(chunks) == expected.types
    assert ids.tolist() == expected.ids.tolist() and offsets.tolist() == expected.offsets.tolist()


@pytest.mark.slow
def test_every_character_parts_chunks_where_it_parts_them_for_python() -> None:
    characters = [chr(i) for i in range(0x110000)]
    chunks, ids, offsets = intern_chunks([f"a{c}b{c}" for c in characters])
    assert np.diff(offsets).tolist() == [len(f"a{c}b".split()) for c in characters]
    assert ids.max() == len(chunks) - 1 == 0x110000 - sum(map(str.isspace, characters)) + 1


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [("en", "training_set/source.eng", "training.en.tok.gz"),
     ("es", "training_set/target_system.spa", "training.es.tok.gz")],
)  # fmt: skip
def test_moses_2012_gives_the_tokens_of_the_organisers(
    shared_data: Find, language: str, text: str, tokens: str, normalised: bool
) -> None:
    lines = shared_data(f"wmt12-qe/{text}").read_text("utf-8").split("\n")[:-1]
    with gzip.open(shared_data(f"golden/questpp/{tokens}"), "rt", encoding="utf-8", newline="\n") as stream:
        expected = [line.split() for line in stream]
    tokenizer = Tokenizer(language, "moses-2012", normalise=normalised)
    cut = tokenizer.tokens(lines)
    assert np.mean(cut.lengths == [len(line) for line in expected]) >= 0.98
    if not normalised:
        assert np.mean([cut.words(i) == line for i, line in enumerate(expected)]) >= 0.997


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINES, max_size=4), st.sampled_from(LANGUAGES), st.booleans())
def test_moses_2012_of_a_batch_and_of_lines(lines: list[str], language: str, normalised: bool) -> None:
    tokenizer = Tokenizer(language, "moses-2012", normalise=normalised)
    tokens = as_batch(tokenizer, lines)
    assert [tokens.words(i) for i in range(len(lines))] == [tokenizer.split(line) for line in lines]


def test_no_text_and_no_texts() -> None:
    assert Tokenizer().tokens([]).offsets.tolist() == [0]
    assert Tokenizer().tokens(["", " \t "]).offsets.tolist() == [0, 0, 0]
    assert Tokenizer().tokens(["", " \t "] * 16).offsets.tolist() == [0] * 33
    assert Tokenizer().split("") == []


@pytest.mark.slow
def test_corpus_is_what_split_gives_pair_by_pair() -> None:
    pairs = [(f"a {i}, b", "" if i % 5 == 0 else f"c{i % 7}. d") for i in range(12_000)]
    corpus = ParallelCorpus.from_lines(iter(pairs))
    split = Tokenizer().split
    kept = [pair for pair in pairs if pair[1]]
    for tokens, side in ((corpus.source, 0), (corpus.target, 1)):
        expected = Tokens.from_lists(split(pair[side]) for pair in kept)
        assert tokens.types == expected.types
        assert tokens.fingerprint == expected.fingerprint
    assert corpus.empty_pairs == 2400
