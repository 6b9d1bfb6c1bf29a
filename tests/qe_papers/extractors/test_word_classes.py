"""Words by lists, spelling and case: by hand, with the examples of the papers."""

import numpy as np
import pytest

from features import Segments
from features.basics.errors import InputError
from features.resources.word_lexicon import StopWords
from qe.language.taggers import tagger
from qe_papers.extractors.word_classes import WORDS, Casing, Deictics, FunctionWords, Misspellings
from qe_papers.resources.truecaser import Truecaser, begins
from tests.factories import EN_ES, row, segments, tokens


def test_the_papers_examples_are_there() -> None:
    assert {"that", "now", "there"} <= WORDS["en"] and {"hoy", "allí", "tú"} <= WORDS["es"]


def test_by_hand() -> None:
    values = row(Deictics(), segments("I am here", "Estoy Aquí hoy , aquí", EN_ES))
    assert (values["deictics_source"], values["deictics_target"]) == (2, 3)
    assert values["deictics_difference"] == -1 and values["deictics_target_share"] == pytest.approx(3 / 5)


def listed(*words: str) -> StopWords:
    return StopWords(words, settings={"side": "source"}, corpus_fingerprint="")


def test_function_words_by_hand() -> None:
    """The, of, the of five; La of three: each side has its own list, and case does not count."""
    extractor = FunctionWords(listed("of", "the"), listed("de", "la"))
    shares = extractor.extract(segments("The end of the day", "La the end"))[0]
    assert shares.tolist() == pytest.approx([3 / 5, 1 / 3])


ROWS = [("Osama", "NER=B-PER|Spell=no"), ("vive", "NER=O"), ("enla", "NER=O|Spell=no"), ("casa", "NER=O")]


def checked(rows: list[tuple[str, str]], *comments: str) -> Segments:
    lines = [f"{k}\t{word}" + "\t_" * 7 + f"\t{misc}" for k, (word, misc) in enumerate(rows, start=1)]
    text, block = " ".join(word for word, _ in rows), "\n".join([*comments, *lines])
    return segments("x", text, EN_ES, annotation_target=block)


SPELLER = "# speller = hunspell es_ES"


@pytest.mark.parametrize(("entities", "count", "share"), [(False, 1, 1 / 3), (True, 2, 2 / 4)])
def test_misspellings_by_hand(entities: bool, count: int, share: float) -> None:
    values = row(Misspellings(entities=entities), checked(ROWS, SPELLER))
    assert values["misspelled_words_target"] == count
    assert values["misspelled_share_target"] == pytest.approx(share)


def test_hunspell_itself() -> None:
    try:
        (block,) = tagger("hunspell", "es", "en").annotate([["La", "casa", "esta", "enla", "playa"]])
    except InputError as error:
        pytest.skip(str(error))
    given = segments("x", "La casa esta enla playa", EN_ES, annotation_target=block)
    values = row(Misspellings(entities=True), given)
    assert values["misspelled_words_target"] == 1


def test_features_by_hand() -> None:
    text = tokens("The red house of Ann .", "Ann said : The house is red !", "It rained in the EU")
    caser = Truecaser.from_tokens(text)
    features = Casing(caser, caser).extract(segments(["The House of ann", ""], ["red Ann EU", "The red"]))
    np.testing.assert_array_equal(features[0], [2, 0.5, 1, 0, 0, 2, 1])
    np.testing.assert_array_equal(features[1], [0, np.nan, 0, 0, 0, 0, 0])


TEXT_OF_TRUECASER = tokens(
    "The red house of Ann .", "Ann said : The house is red !", "Monday it rained in the EU", "Red , red , RED"
)


def test_spellings_are_counted_away_from_the_starts_of_sentences() -> None:
    caser = Truecaser.from_tokens(TEXT_OF_TRUECASER)
    usual = caser.usual(("THE", "ann", "eu", "monday", "Red", "unknown"))
    assert list(usual) == ["the", "Ann", "EU", "Monday", "red", None]
    assert caser.shares[caser.spellings.index("red")] == np.float32(3 / 4)


def test_words_of_another_part_of_the_corpus_are_unknown() -> None:
    made = Truecaser.from_tokens(TEXT_OF_TRUECASER.take(np.array([3])))
    assert made.spellings == (",", "RED") and made.shares.tolist() == [1.0, 0.5]  # capitals first


def test_starts() -> None:
    assert begins(tokens("a : b c", "", "d")).tolist() == [True, False, True, False, True]


def test_only_starts_are_changed() -> None:
    caser = Truecaser.from_tokens(TEXT_OF_TRUECASER)
    cased = caser.truecase(tokens("RED The Unknown", "", "Unknown : THE EU"))
    words = [cased.words(i) for i in range(3)]
    assert words == [["red", "The", "Unknown"], [], ["Unknown", ":", "the", "EU"]]
