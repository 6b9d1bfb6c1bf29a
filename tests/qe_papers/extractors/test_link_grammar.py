"""Figures of linkages, by hand; the program link-parser itself where it is installed."""

from collections.abc import Sequence

import numpy as np
import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.language.taggers import tagger
from qe_papers.extractors.link_grammar import LinkGrammar
from tests.factories import EN_ES, ENGLISH, SPANISH, row, segments
from tests.features.parsed import block


def comments(linkages: object, unused: object, cost: object, length: object) -> list[str]:
    figures = {"linkages": linkages, "unused": unused, "cost": cost, "length": length}
    return [f"link_grammar_{name} = {value}" for name, value in figures.items()]


def linked(*texts: tuple[str, Sequence[str]]) -> Segments:
    blocks = [block(*text) for text in texts]
    return segments([text for text, _ in texts], "x", EN_ES, annotation_source=blocks)


def value_of(values: dict[str, float], name: str) -> float:
    return values[f"link_grammar_{name}_source"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            (1000, 0, 3.5, 12),
            {"linkages": 1000, "linkages_log10": 3, "complete": 1, "unused": 0, "cost": 3.5,
             "cost_by_word": 3.5 / 4, "length": 12, "length_by_word": 3, "linkages_below_1000": 0,
             "linkages_below_1001": 1},
        ),
        (
            (1, 6, -0.61, 0),  # both walls and all words are unused; simple sentences cost less than nothing
            {"linkages": 1, "linkages_log10": 0, "complete": 0, "unused": 6, "cost": -0.61,
             "cost_by_word": -0.61 / 4, "length": 0, "length_by_word": 0, "linkages_below_1000": 1,
             "linkages_below_1001": 1},
        ),
    ],
)  # fmt: skip
def test_by_hand(given: tuple[float, ...], expected: dict[str, float]) -> None:
    values = row(LinkGrammar(below=[1000, 1001]), linked(("a b c d", comments(*given))))
    assert values == pytest.approx({f"link_grammar_{name}_source": v for name, v in expected.items()})


def test_a_text_that_was_given_up_is_undefined_if_there_may_be_some() -> None:
    given = linked(("a b", comments(2, 1, 0, 3)), ("c d", ()), ("", ()))
    extractor = LinkGrammar(below=[10], timed_out=True)
    assert value_of(row(extractor, given, 0), "given_up") == 0
    without = row(extractor, given, 1)
    assert without.pop("link_grammar_given_up_source") == 1
    assert np.isnan(list(without.values())).all()
    assert np.isnan(list(row(extractor, given, 2).values())).all()


def test_the_other_side_can_be_the_english_one() -> None:
    given = segments("x", "a b", (SPANISH, ENGLISH), annotation_target=block("a b", comments(5, 0, 1, 2)))
    values = row(LinkGrammar(sides="target"), given)
    assert values["link_grammar_linkages_target"] == 5 and len(values) == 8


@pytest.mark.slow
def test_link_parser_itself() -> None:
    """A sentence, and salad of its words."""
    texts = ["The cat sleeps on the mat .", "Cat the of of the mat ."]
    try:
        blocks = list(tagger("link-grammar", "en", "es").annotate([text.split() for text in texts]))
    except InputError as error:
        pytest.skip(str(error))
    given = segments(texts, "x", EN_ES, annotation_source=blocks)
    sentence, salad = (row(LinkGrammar(), given, i) for i in (0, 1))
    assert (value_of(sentence, "complete"), value_of(salad, "complete")) == (1, 0)
    assert value_of(sentence, "unused") == 0 < value_of(salad, "unused")
    assert value_of(sentence, "linkages") >= 1
    assert value_of(sentence, "length_by_word") == value_of(sentence, "length") / 7 >= 1
