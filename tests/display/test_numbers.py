"""One notation of each kind of number, by rules that hold for all of them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.display.numbers import (
    count,
    estimate,
    exact,
    general,
    interval,
    number,
    p_value,
    percent,
    percent_estimate,
    signed,
)
from qe.statistics.settings import LEVEL

FLOATS = st.floats(-1e6, 1e6)
P = st.floats(0, 1)


@given(FLOATS, st.integers(0, 6))
def test_no_zero_has_a_sign(value: float, digits: int) -> None:
    for shown in (
        number(value, digits),
        signed(value, digits),
        percent(value, digits),
        general(value, digits + 1),
    ):
        assert not re.fullmatch(r"[-+][0.]+( %)?", shown)


@given(FLOATS)
def test_a_number_is_as_far_from_the_text_as_its_digits_allow(value: float) -> None:
    assert float(number(value, 3).replace(",", "")) == pytest.approx(value, abs=0.00051)
    assert float(general(value, 4).replace(",", "")) == pytest.approx(value, rel=0.00051, abs=1e-300)


@given(FLOATS)
def test_the_value_behind_the_text_keeps_all_digits(value: float) -> None:
    for shown in (number(value), signed(value), general(value), percent(value)):
        assert shown.value == value
    assert float(exact(value)) == value


@given(P)
def test_a_p_value_is_never_all_zeros_and_is_marked_by_its_own_digits(p: float) -> None:
    shown = p_value(p, LEVEL)
    assert re.fullmatch(r"(< \.001|\.\d{3}|1\.000)\*?", shown)
    assert not shown.startswith((".000", "0"))
    assert shown.endswith("*") == (p <= LEVEL)
    assert shown.value == p and bool(shown.legend) == (p <= LEVEL)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0496, ".050*"),
        (0.05, ".050*"),
        (0.0501, ".050"),
        (0.001, ".001*"),
        (0.00099, "< .001*"),
        (0.0, "< .001*"),
    ],
)
def test_p_values_at_their_limits(p: float, text: str) -> None:
    assert p_value(p, 0.05) == text


@pytest.mark.parametrize("undefined", [None, math.nan])
def test_what_is_undefined_is_one_mark_and_no_value(undefined: float | None) -> None:
    shown = [number(undefined), signed(undefined), general(undefined), count(undefined), percent(undefined)]
    shown += [p_value(undefined, 0.05)]
    assert {*shown} == {"-"} and all(one.value is None and one.legend for one in shown)
    for bounds in ((undefined, 1.0), (1.0, undefined), None):
        assert interval(bounds) == "-" and None in interval(bounds).value.values()


def test_an_interval_is_one_piece_and_an_estimate_two() -> None:
    shown = estimate(0.25, (-0.125, 0.5))
    assert shown == "0.250 [-0.125, 0.500]" and shown.pieces == ("0.250", "[-0.125, 0.500]")
    assert shown.value == {"value": 0.25, "low": -0.125, "high": 0.5}
    assert percent_estimate(0.25, (0.1, 0.4), 0) == "25 % [10, 40]"
    assert estimate(0.25, (math.nan, math.nan)) == "0.250"
