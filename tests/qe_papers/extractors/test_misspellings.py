"""What a speller does not know, entities left out; hunspell itself where it is installed."""

import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.language.taggers import tagger
from qe_papers.extractors.word_classes import Misspellings
from tests.factories import ENGLISH, SPANISH, refuses, row

ROWS = [("Osama", "NER=B-PER|Spell=no"), ("vive", "NER=O"), ("enla", "NER=O|Spell=no"), ("casa", "NER=O")]


def segments(rows: list[tuple[str, str]], *comments: str) -> Segments:
    lines = [f"{k}\t{word}" + "\t_" * 7 + f"\t{misc}" for k, (word, misc) in enumerate(rows, start=1)]
    columns = {"source": ["x"], "target": [" ".join(word for word, _ in rows)],
               "annotation_target": ["\n".join([*comments, *lines])]}  # fmt: skip
    return Segments.from_columns(columns, ENGLISH, SPANISH)


SPELLER = "# speller = hunspell es_ES"


@pytest.mark.parametrize(("entities", "count", "share"), [(False, 1, 1 / 3), (True, 2, 2 / 4)])
def test_by_hand(entities: bool, count: int, share: float) -> None:
    values = row(Misspellings(entities=entities), segments(ROWS, SPELLER))
    assert values["misspelled_words_target"] == count
    assert values["misspelled_share_target"] == pytest.approx(share)


def test_what_is_missing_is_one_message() -> None:
    refuses(r"no speller was asked; annotate with `\+hunspell`", Misspellings().extract, segments(ROWS))
    refuses("has no entity tag", Misspellings().extract, segments([("enla", "Spell=no")], SPELLER))


def test_hunspell_itself() -> None:
    try:
        by = tagger("hunspell", "es", "en")
        (block,) = by.annotate([["La", "casa", "esta", "enla", "playa"]])
    except InputError as error:
        pytest.skip(str(error))
    columns = {"source": ["x"], "target": ["La casa esta enla playa"], "annotation_target": [block]}
    values = row(Misspellings(entities=True), Segments.from_columns(columns, ENGLISH, SPANISH))
    assert values["misspelled_words_target"] == 1
