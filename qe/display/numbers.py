"""Numbers as people read them: one notation each for a figure, a share, an interval, a p-value."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

UNDEFINED, UNDECIDED, SIGNIFICANT = "-", "?", "*"
MARKS = SIGNIFICANT + "†‡"  # what may stand behind a number
_UNDEFINED_LEGEND = f"{UNDEFINED}: undefined"
_SMALLEST_P = 0.001  # below it, digits of a p-value say nothing to a reader


class NumberText(str):
    """A number in words, with the value behind it for CSV and JSON.

    value   with all its digits; None if it is undefined; several by name, such as an interval's `low`, `high`
    pieces  the parts that may be on separate lines; none of them is ever broken
    legend  what a mark in the text means, for the foot of a table
    """

    value: Any
    pieces: tuple[str, ...]
    legend: str

    def __new__(cls, *pieces: str, value: Any, legend: str = "") -> Self:
        text = super().__new__(cls, " ".join(pieces))
        text.value, text.pieces, text.legend = value, pieces, legend
        return text


def number(value: float | None, digits: int = 3) -> NumberText:
    """A figure with so many digits after the point, thousands parted; no zero has a sign.

    >>> number(1234.5, 1), number(-0.0004), number(float("nan"))
    ('1,234.5', '0.000', '-')
    """
    return _formatted_number(value, f"z,.{digits}f")


def signed(value: float | None, digits: int = 3) -> NumberText:
    """A difference with its sign (`+0.25`), unless it rounds to zero (`0.000`)."""
    sign = "" if value is None or round(value, digits) == 0 else "+"
    return _formatted_number(value, f"{sign}z,.{digits}f")


def general(value: float | None, digits: int = 4) -> NumberText:
    """A figure of unknown size: so many significant digits, all of a whole number's (`18,320`)."""
    is_large = value is not None and 10**digits <= abs(value) < 1e15
    return _formatted_number(value, "z,.0f" if is_large else f"z.{digits}g")


def signed_general(value: float) -> str:
    """A coefficient or another term of a sum: its sign, then its first digits.

    >>> signed_general(-0.000123456), signed_general(2.5)
    ('-0.0001235', '+2.5')
    """
    return ("" if value < 0 else "+") + general(value)


def count(value: float | None) -> NumberText:
    """A whole number, thousands parted: `18,320`."""
    text = _formatted_number(value, "z,.0f")
    return text if text.value is None else NumberText(text, value=round(text.value))


def percent(share: float | None, digits: int = 1) -> NumberText:
    """A share in per cent: `25.4 %`."""
    return _formatted_number(share, f"z.{digits}f", 100, " %")


def interval(bounds: Sequence[float | None] | None, digits: int = 3) -> NumberText:
    """`[low, high]`; undefined (`-`) if a bound is."""
    return _interval(bounds, f"z,.{digits}f", 1)


def span(low: float | None, high: float | None, digits: int = 4) -> NumberText:
    """`[low, high]` of figures of unknown size, such as `[0.0001234, 18,320]`."""
    return _bounded(general(low, digits), general(high, digits))


def estimate(value: float | None, bounds: Sequence[float | None] | None, digits: int = 3) -> NumberText:
    """A figure with its interval (`0.25 [0.12, 0.50]`), or alone if there is none."""
    return _with_bounds(number(value, digits), interval(bounds, digits))


def percent_estimate(
    share: float | None, bounds: Sequence[float | None] | None, digits: int = 1
) -> NumberText:
    """A share in per cent with its interval, or alone if there is none: `25.0 % [12.5, 50.0]`."""
    return _with_bounds(percent(share, digits), _interval(bounds, f"z.{digits}f", 100))


def p_value(p: float | None, level: float | None, undecided: object = False) -> NumberText:
    """A p-value with three digits, never all zeros; `*` if the unrounded value is at most the level.

    level      None for a p-value without a mark, as in a sentence that states the verdict
    undecided  whether the test cannot decide: `?`
    """
    if undecided:
        return NumberText(UNDECIDED, value=None, legend=f"{UNDECIDED}: cannot be decided")
    if p is None or math.isnan(p):
        return _formatted_number(p, "")
    text = "< .001" if p < _SMALLEST_P else f"{p:.3f}".removeprefix("0")
    if level is None or p > level:
        return NumberText(text, value=p)
    return NumberText(text + SIGNIFICANT, value=p, legend=f"{SIGNIFICANT}: p <= {probability(level)}")


def starred(text: NumberText, p: float, level: float) -> NumberText:
    mark = p_value(p, level)
    if not mark.endswith(SIGNIFICANT):
        return text
    *pieces, last = text.pieces
    return NumberText(*pieces, last + SIGNIFICANT, value=text.value, legend=mark.legend)


def settings(values: Mapping[str, Any]) -> str:
    """Parameters in a line, numbers by their first digits: `C=0.0001235, kernel=rbf`."""
    return ", ".join(f"{k}={general(v) if isinstance(v, float) else v}" for k, v in values.items())


def in_words(text: NumberText) -> str:
    """A figure in a sentence, where a mark would not be understood.

    >>> in_words(number(None)), in_words(number(0.25))
    ('undefined', '0.250')
    """
    return "undefined" if text == UNDEFINED else str(text)


def fixed(value: float, digits: int) -> str:
    return f"{value:z.{digits}f}"


def exact(value: float | None) -> str:
    """All digits of a number, for files that programs read; nothing if it is undefined."""
    return "" if value is None or math.isnan(value) else repr(float(value))


def _formatted_number(value: float | None, form: str, factor: float = 1, unit: str = "") -> NumberText:
    if value is None or math.isnan(value):
        return NumberText(UNDEFINED, value=None, legend=_UNDEFINED_LEGEND)
    return NumberText(f"{float(factor * value):{form}}{unit}", value=float(value))


def _interval(bounds: Sequence[float | None] | None, form: str, factor: float) -> NumberText:
    low, high = (_formatted_number(bound, form, factor) for bound in bounds or (None, None))
    return _bounded(low, high)


def _bounded(low: NumberText, high: NumberText) -> NumberText:
    value = {"low": low.value, "high": high.value}
    if UNDEFINED in (low, high):
        return NumberText(UNDEFINED, value=value, legend=_UNDEFINED_LEGEND)
    return NumberText(f"[{low}, {high}]", value=value)


def _with_bounds(text: NumberText, bounds: NumberText) -> NumberText:
    if bounds == UNDEFINED:
        return text
    return NumberText(text, bounds, value={"value": text.value, **bounds.value})


def probability(level: float) -> str:
    """A level of significance, without the zero before the point: `.05`."""
    return f"{level:g}".removeprefix("0")
