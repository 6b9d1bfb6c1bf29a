"""Stop words: the most frequent words of a side, or those of a list."""

from pathlib import Path
from typing import cast

import pytest

from features.basics.errors import InputError
from features.resources.word_lexicon import StopWords
from features.text.corpus import ParallelCorpus
from qe.resources.bundle_source import Inputs
from qe.resources.files import PartFiles
from tests.factories import refuses
from tests.resources.building import build_bundle, write_lines

LINES = ["la casa de la .", "De casa , la", "mar y sol . . ."]


def test_frequent_words_of_letters() -> None:
    """`la` three times, `casa` and `de` twice, in the order of the text; marks are no words."""
    corpus = ParallelCorpus.from_lines([("x", line) for line in LINES])
    most = {n: StopWords.build(corpus, side="target", max_words=n).words for n in (1, 2, 3, 99)}
    assert most[1] == ("la",) and most[2] == ("casa", "la") and most[3] == ("casa", "de", "la")
    assert most[99] == ("casa", "de", "la", "mar", "sol", "y")


def test_a_corpus_without_words_has_none() -> None:
    with pytest.raises(InputError, match="no words of letters"):
        StopWords.build(ParallelCorpus.from_lines([("x", ". 7 !")]), side="target")


@pytest.mark.slow
def test_a_list_takes_their_place(tmp_path: Path) -> None:
    """Lower-cased, once each, empty lines passed over; another list is read anew."""
    given = tmp_path / "stop.txt"
    for side, lines in (("s", ["a"] * 3), ("t", LINES)):
        write_lines(tmp_path / side, lines)

    def words(text: str | None) -> tuple[str, ...]:
        files = {} if text is None else {"target_stop_words": given}
        if text is not None:
            given.write_text(text, "utf-8")
        inputs = Inputs(files=PartFiles(files))
        bundle = build_bundle(tmp_path, ["target_stop_words"], inputs, tokenizer="whitespace")
        return cast(StopWords, bundle.part("target_stop_words")).words

    assert words("La\nun\n\nla\n") == ("la", "un")
    assert words("el\n") == ("el",)
    assert "casa" in words(None)
    refuses("no words.*one a line", words, "\n")
