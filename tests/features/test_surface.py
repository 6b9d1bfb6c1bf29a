"""Surface features: by hand, by a plain recount of random texts, and where they are undefined."""

import itertools
import math
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.surface import Surface, is_ellipsis, is_nested, is_number, is_punctuation, is_word
from tests.factories import paired, row, rows, segments, table

TOKENS = st.sampled_from(
    ["The", "the", "a", "el", "de", "house", "HOUSE", "él", "é", "co-op", "3", "1,000", "1.000", "B2", "20th",
     ".", ",", ";", ":", "?", "!", "¿", "...", "…", "-", "--", "(", ")", "[", "]", "'", '"', "“", "”", "«",
     "'s", "😀", "你好", "%", "/"]
)  # fmt: skip
TEXTS = st.lists(TOKENS, max_size=15).map(" ".join)


def of(source: str, target: str) -> dict[str, float]:
    return row(Surface(), segments(source, target))


def test_by_hand() -> None:
    outcome = of(
        "The U.S. paid $ 1,000 ( ten ) in 2010 .", "Los Estados Unidos pagó 1.000 ( diez en 2011 , 2011 ."
    )
    expected = {
        "tokens_source": 11, "tokens_target": 12, "tokens_difference": 1, "tokens_squared_difference": 1,
        "tokens_ratio": 12 / 11, "tokens_inverse_ratio": 11 / 12,
        "characters_source": 3 + 4 + 4 + 1 + 5 + 1 + 3 + 1 + 2 + 4 + 1,
        "token_length_source": 29 / 11,
        "numbers_source": 2, "numbers_target": 3, "numbers_squared_difference": 1,
        "opening_brackets_target": 1, "closing_brackets_target": 0, "closing_brackets_squared_difference": 1,
        "strong_punctuation_source": 1, "weak_punctuation_target": 1,
        "short_words_source": 3, "long_words_source": 1, "short_words_target": 2, "long_words_target": 4,
        "full_stops_difference": 0, "commas_difference": 1, "commas_difference_per_token": 1 / 12,
        "punctuation_source": 3, "punctuation_share_source": 3 / 11, "punctuation_ratio": 3 / 3,
        "non_alphabetic_source": 7, "non_alphabetic_target": 6, "non_alphabetic_ratio": 6 / 7,
        "capitalised_source": 1, "capitalised_target": 3,
        "capital_letters_share_source": 3 / 29,
        "has_numbers": 1, "has_quotes": 0, "has_hyphens": 0,
        "bracket_mismatch_source": 0, "bracket_mismatch_target": 1,
        "brackets_nested_source": 1, "brackets_nested_target": 0,
        "final_mark_source": 1, "final_mark_target": 1, "same_final_mark": 1, "initial_capital_target": 1,
        "numbers_missing": 1, "numbers_added": 2,  # 2010; 2011 twice
        "copied": 0, "copied_share": 0, "many_more_words": 0,
        "doubled_target": 0, "repeated_target": 1, "once_target": 10, "once_share_target": 10 / 12,
    }  # fmt: skip
    assert {name: outcome[name] for name in expected} == pytest.approx(expected)


def test_type_token_ratios_are_their_formulas() -> None:
    outcome = of("a b c d", "a b A a c")  # 4 of 4; 3 of 5
    assert outcome["ttr_target"] == pytest.approx(3 / 5)
    assert outcome["corrected_ttr_target"] == pytest.approx(3 / math.sqrt(10))
    assert outcome["guiraud_target"] == pytest.approx(3 / math.sqrt(5))
    assert outcome["log_ttr_target"] == pytest.approx(math.log(3) / math.log(5))
    assert outcome["uber_target"] == pytest.approx(math.log(5) ** 2 / (math.log(5) - math.log(3)))
    assert math.isnan(outcome["uber_source"]) and outcome["ttr_source"] == 1
    assert math.isnan(of("a", "a")["log_ttr_source"])


def test_copies_contractions_repetitions() -> None:
    outcome = of("the Blackberry of Obama obama", "de el obama a el el Blackberry libro de libro")
    assert outcome["split_contractions"] == 2
    assert outcome["copied"] == 2 and outcome["copied_share"] == 2 / 4  # obama, blackberry
    assert outcome["doubled_target"] == 1 and outcome["doubled_source"] == 1
    assert of("a", "de")["split_contractions"] == 0
    two = table(Surface(), segments("x", ["de", "el a"]))
    assert two["split_contractions"].tolist() == [0, 0]  # not across segments


@pytest.mark.parametrize(
    ("text", "mismatch"), [('" a "', 0), ('" a', 1), ("“ a ”", 0), ("“ a", 1), ("« a » ”", 1), ("`` a ''", 0)]
)
def test_quotes_without_partner(text: str, mismatch: int) -> None:
    assert of(text, "")["quote_mismatch_source"] == mismatch


def test_tokens_are_what_they_are_called() -> None:
    assert all(map(is_word, ["house", "é", "e\u0301te\u0301", "co-op", "don't", "हिन्दी"]))
    assert not any(map(is_word, ["'s", "-", "B2", "3", "a-", ""]))
    assert all(map(is_number, ["3", "1,000", "3.5", "10:30", "2009/10", "٣"]))
    assert not any(map(is_number, ["20th", "-", "3.", ",5"]))
    assert all(map(is_punctuation, [".", "...", "¿", "''", "``", "—", "、"]))
    assert not any(map(is_punctuation, ["$", "a", "+"]))
    assert is_ellipsis("...") and is_ellipsis("…") and not is_ellipsis(".")
    assert is_nested(["(", "[", "]", ")", "{", "}"]) and not is_nested(["("])


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_recount(pairs: list[tuple[str, str]]) -> None:
    """Against Python's Counter and str methods, segment by segment."""
    for by_name, (source, target) in zip(rows(Surface(), paired(pairs)), pairs, strict=True):
        left, right = source.split(), target.split()
        lower = Counter(t.lower() for t in right)
        assert by_name["tokens_target"] == len(right)
        assert by_name["characters_source"] == sum(map(len, left))
        assert by_name["once_target"] == sum(n == 1 for n in lower.values())
        assert by_name["repeated_target"] == len(right) - len(lower)
        assert by_name["commas_difference"] == right.count(",") - left.count(",")
        assert by_name["numbers_source"] == sum(t in ("3", "1,000", "1.000") for t in left)
        assert by_name["with_digits_target"] == right.count("B2") + right.count("20th")
        assert by_name["doubled_source"] == sum(
            a.lower() == b.lower() and a[0].isalpha() and not a[-1].isdigit()
            for a, b in itertools.pairwise(left)
        )
        assert by_name["split_contractions"] == sum(
            pair in (("a", "el"), ("de", "el")) for pair in itertools.pairwise(right)
        )
        digits = [Counter(filter(None, (re.sub(r"\D", "", t) for t in side))) for side in (left, right)]
        assert by_name["numbers_missing"] == (digits[0] - digits[1]).total()
        assert by_name["numbers_added"] == (digits[1] - digits[0]).total()
        assert by_name["bracket_mismatch_source"] == sum(
            abs(left.count(o) - left.count(c)) for o, c in (("(", ")"), ("[", "]"))
        )
        assert by_name["capital_letters_share_target"] == pytest.approx(
            sum(c.isupper() for c in target) / sum(map(len, right)) if right else math.nan, nan_ok=True
        )
