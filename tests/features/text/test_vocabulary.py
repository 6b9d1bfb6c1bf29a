"""Vocabularies of the same words are one, and are forgotten with who holds them."""

import gc
from pathlib import Path

import pytest

from features.text import tokens
from features.text.tokens import Vocabulary


def test_files_of_the_same_words_give_one_vocabulary(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, words in zip(paths, (["the", "cat"], ["the", "cat"], ["cat", "the"]), strict=True):
        Vocabulary(words).save(path)
    one, same, other = map(Vocabulary.load, paths)
    assert same is one and other is not one
    assert (one.lookup(["the", "cat", "dog"]).tolist(), other.lookup(["the"]).tolist()) == ([3, 4, 0], [4])


def test_only_line_feeds_end_a_word_and_other_bytes_than_text_are_refused(tmp_path: Path) -> None:
    Vocabulary(["a\rb", "c\u2028d", "\ufeffe"]).save(tmp_path / "words")
    assert Vocabulary.load(tmp_path / "words").words[3:] == ("a\rb", "c\u2028d", "\ufeffe")
    (tmp_path / "words").write_bytes(b"a\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        Vocabulary.load(tmp_path / "words")


def test_what_nobody_holds_is_forgotten(tmp_path: Path) -> None:
    before = len(tokens._loaded)
    Vocabulary(["a", "vocabulary", "of", "its", "own"]).save(tmp_path / "words")
    held = Vocabulary.load(tmp_path / "words")
    assert len(tokens._loaded) == before + 1 and held.words[-1] == "own"
    del held
    gc.collect()
    assert len(tokens._loaded) == before
