"""What a speller does not know, entities left out; hunspell itself where it is installed."""

import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.language.taggers import tagger
from qe_papers.extractors.word_classes import Misspellings
from tests.factories import EN_ES, refuses, row, segments

ROWS = [("Osama", "NER=B-PER|Spell=no"), ("vive", "NER=O"), ("enla", "NER=O|Spell=no"), ("casa", "NER=O")]


def checked(rows: list[tuple[str, str]], *comments: str) -> Segments:
    lines = [f"{k}\t{word}" + "\t_" * 7 + f"\t{misc}" for k, (word, misc) in enumerate(rows, start=1)]
    text, block = " ".join(word for word, _ in rows), "\n".join([*comments, *lines])
    return segments("x", text, EN_ES, annotation_target=block)


SPELLER = "# speller = hunspell es_ES"


@pytest.mark.parametrize(("entities", "count", "share"), [(False, 1, 1 / 3), (True, 2, 2 / 4)])
def test_by_hand(entities: bool, count: int, share: float) -> None:
    values = row(Misspellings(entities=entities), checked(ROWS, SPELLER))
    assert values["misspelled_words_target"] == count
    assert values["misspelled_share_target"] == pytest.approx(share)


def test_what_is_missing_is_one_message() -> None:
    refuses(r"no speller was asked; annotate with `\+hunspell`", Misspellings().extract, checked(ROWS))
    refuses("has no entity tag", Misspellings().extract, checked([("enla", "Spell=no")], SPELLER))


def test_hunspell_itself() -> None:
    try:
        by = tagger("hunspell", "es", "en")
        (block,) = by.annotate([["La", "casa", "esta", "enla", "playa"]])
    except InputError as error:
        pytest.skip(str(error))
    given = segments("x", "La casa esta enla playa", EN_ES, annotation_target=block)
    values = row(Misspellings(entities=True), given)
    assert values["misspelled_words_target"] == 1
