"""A table in all its forms; numbers are whole and columns accounted for at any width."""

import csv
import io
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from qe.display.numbers import estimate, interval, number, p_value, percent
from qe.display.table import Column, Table
from tests.display.whole import check_whole

WORDS = st.text(st.sampled_from("ab_-/=:. é統"), min_size=1, max_size=30).map(str.strip)
NUMBERS = st.floats(-1e4, 1e4)
CELLS = st.one_of(
    NUMBERS.map(number),
    st.tuples(NUMBERS, NUMBERS).map(interval),
    st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda x: estimate(x[0], x[1:])),
    st.floats(0, 1).map(lambda p: p_value(p, 0.05)),
    WORDS,
    st.just(""),
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(2, 9))
    columns = [Column(f"c{i} of {i}00", drop=draw(st.integers(0, 2)) if i else 0) for i in range(width)]
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))
    named = [[f"row {i}", *row[1:]] for i, row in enumerate(rows)]
    return Table(draw(WORDS), columns, named, draw(st.lists(WORDS, max_size=2)))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tables(), st.integers(44, 200))
def test_any_table_fits_any_width_with_its_numbers_whole(table: Table, width: int) -> None:
    check_whole(table, width)


def example() -> Table:
    columns = [
        Column("metric", once=True),
        Column("system"),
        Column("DeltaAvg"),
        Column("95 % interval", "ci"),
        Column("p"),
    ]
    rows = [
        ("mae", "ridge", number(0.51234), interval((0.4, 0.6)), p_value(0.0496, 0.05)),
        ("mae", "a | b * c", number(-0.0001), interval((-0.1, 0.25)), p_value(0.3, 0.05)),
        (),
        (
            "rmse",
            "ridge <b> & 5 %",
            number(float("nan")),
            interval(None),
            p_value(None, 0.05, undecided=True),
        ),
    ]
    return Table("By DeltaAvg", columns, rows, ["n = 100 segments"])


def test_a_wide_terminal_shows_it_plainly() -> None:
    assert example().text(100) == (
        "By DeltaAvg\n"
        "metric  system           DeltaAvg    95 % interval     p\n"
        "─────────────────────────────────────────────────────────\n"
        "mae     ridge               0.512   [0.400, 0.600]  .050*\n"
        "        a | b * c           0.000  [-0.100, 0.250]  .300\n"
        "\n"
        "rmse    ridge <b> & 5 %         -                -     ?\n"
        "*: p <= .05; -: undefined; ?: cannot be decided\n"
        "n = 100 segments\n"
    )


def test_the_least_important_column_goes_first_and_is_named() -> None:
    columns = [Column("system"), *(Column(f"metric {i}", drop=i) for i in range(8))]
    table = Table("", columns, [("ridge", *(number(i / 7) for i in range(8)))])
    text = table.text(60)
    assert "no room in 60 columns for metric 6, metric 7" in text and "0.714" in text
    assert "no room" not in table.text(100)


def test_markdown_escapes_what_would_be_markup() -> None:
    lines = example().markdown().splitlines()
    assert lines[:4] == ["### By DeltaAvg", "", "| metric | system | DeltaAvg | 95 % interval | p |",
                         "| --- | --- | ---: | ---: | ---: |"]  # fmt: skip
    assert lines[4] == "| mae | ridge | 0.512 | [0.400, 0.600] | .050\\* |"
    assert lines[5].startswith("|  | a \\| b \\* c |")
    assert Table("none here", [Column("a")], []).markdown() == "### none here\n\nnone\n"


def test_latex_is_a_table_of_booktabs() -> None:
    text = example().latex()
    assert r"\begin{tabular}{llrrr}" in text and text.count(r"\midrule") == 2
    assert r"mae & ridge & 0.512 & [0.400, 0.600] & .050$^{*}$ \\" in text
    assert r"& 0.000 & [$-$0.100, 0.250] & .300 \\" in text
    assert r"rmse & ridge $<$b$>$ \& 5 \% & -- & -- & ? \\" in text
    assert (
        r"\caption{By DeltaAvg. $^{*}$: p $\le$ .05; --: undefined; ?: cannot be decided. n = 100 segments.}"
        in text
    )


class Cells(HTMLParser):
    """The texts of the cells, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and self.lasttag in ("th", "td") and data.strip():
            self.rows[-1][-1] += data


def test_html_escapes_texts_and_marks_what_is_significant() -> None:
    text = example().html()
    parser = Cells()
    parser.feed(text)
    assert [len(row) for row in parser.rows] == [5, 5, 5, 5]
    assert parser.rows[3][1] == "ridge <b> & 5 %" and "<b>" not in text
    assert '<td class="sure">.050*</td>' in text and "<td>.300</td>" in text


def test_csv_and_json_keep_all_digits() -> None:
    table = example()
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert list(rows[0]) == ["metric", "system", "DeltaAvg", "ci low", "ci high", "p"]
    assert [row["metric"] for row in rows] == ["mae", "mae", "rmse"]
    assert float(rows[0]["DeltaAvg"]) == 0.51234 and float(rows[0]["p"]) == 0.0496
    assert (rows[2]["DeltaAvg"], rows[2]["p"]) == ("", "")
    records = json.loads(json.dumps(table.records(), allow_nan=False))
    assert records[1]["ci"] == {"low": -0.1, "high": 0.25} and records[2]["ci"] == {"low": None, "high": None}


def test_wide_characters_take_two_columns() -> None:
    table = Table(
        "", [Column("system"), Column("share")], [("統計統計統計", percent(0.5)), ("ridge", percent(0.25))]
    )
    assert {cell_len(line) for line in table.text(80).splitlines()[2:]} == {len("統計統計統計") * 2 + 2 + 6}
