"""Parsing: every form, rows and keys counted first, and a 4xx for all that is no table."""

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.production.server.protocol import Limits, Parsed, Refused, kind_of, parse
from tests.factories import refuses

NEEDED = ("source", "target")
LIMITS = Limits(rows=30, keys=8)
ROWS = [({"source": "a", "target": "b"}, ""), ({"source": "c", "target": None}, "")]


def parsed(content: Any, kind: Any = "json", limits: Limits = LIMITS) -> Parsed:
    """What is left of a body for a model that needs source and target."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    whole = parse(body, kind, limits)
    return Parsed(NEEDED, whole.needed(NEEDED), whole.params)


def test_every_form_of_mlflows_protocol_gives_the_same_rows() -> None:
    records = [{"target": "b", "source": "a", "id": 7}, {"source": "c", "target": None}]
    split = {"columns": ["target", "source"], "data": [["b", "a"], [None, "c"]], "index": [0, 1]}
    lists = {"source": ["a", "c"], "target": ["b", None]}
    for body in (
        {"dataframe_records": records}, {"instances": records}, {"dataframe_split": split}, {"inputs": lists},
    ):  # fmt: skip
        assert parsed(body).rows == ROWS


def test_every_cell_of_csv_is_text() -> None:
    body = '\ufeffsource,target,id\nNA,"None, or\nnull",1\nnull,,2\nnan,NaN\n'.encode()
    assert parsed(body, "csv").rows == [
        ({"source": "NA", "target": "None, or\nnull"}, ""),
        ({"source": "null", "target": ""}, ""),
        ({"source": "nan", "target": "NaN"}, "2 fields where the header has 3"),
    ]


def test_json_too_deep_for_the_parser_is_refused() -> None:
    body = b'{"instances": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    with pytest.raises(Refused, match="too deeply") as refused:
        parsed(body, limits=Limits())
    assert refused.value.status == 400


@pytest.mark.slow
def test_rows_with_distinct_keys_are_counted_before_a_table_is_made() -> None:
    records = [{f"key{n}": 1} for n in range(15_000)]  # 15,000 columns of 15,000 rows: 3.9 GB in a DataFrame
    body = json.dumps({"dataframe_records": records}, separators=(",", ":")).encode()
    assert len(body) > 200_000
    tracemalloc.start()
    for limits in (Limits(), Limits(rows=20_000)):
        refuses("15000 rows|33 columns", parsed, body, limits=limits, error=Refused)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_values_are_counted_before_they_are_made() -> None:
    body = b'{"instances": [' + b"{}," * 2_000_000 + b"{}]}"
    tracemalloc.start()
    refuses("JSON values", parsed, body, limits=Limits(), error=Refused)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(body)


def test_commas_in_text_are_no_values() -> None:
    text = 'so, it said: "[{,,,}]", and \\ went' * 400
    assert parsed({"instances": [{"source": text, "target": text}]}).rows[0][0]["source"] == text


@pytest.mark.parametrize("piece", [b'"', b'\\"', b'"\\', b"\\\\", b'"\\\\\\"', b",", b'",'])
def test_counting_takes_time_in_proportion(piece: bytes) -> None:
    body = b'{"instances": ["' + b"," * 400 + piece * ((1 << 20) // len(piece))
    begun = time.process_time()
    with pytest.raises(Refused):
        parsed(body)
    assert time.process_time() - begun < 2


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_json_is_rows_or_refused(value: Any) -> None:
    for body in (value, {"instances": value}, {"dataframe_split": value}, {"inputs": value}):
        try:
            rows = parsed(body).rows
        except Refused as refused:
            assert refused.status in (400, 422)
        else:
            assert all(set(row) == set(NEEDED) for row, _ in rows)


@given(st.binary())
def test_any_bytes_are_rows_or_refused(body: bytes) -> None:
    for kind in ("json", "csv"):
        try:
            parsed(body, kind)
        except Refused as refused:
            assert refused.status in (400, 422)


def test_content_types() -> None:
    assert kind_of("application/json") == kind_of('Application/JSON; charset="UTF-8"') == "json"
    assert kind_of("text/csv;charset=utf-8") == "csv"
    for other in (None, "", "application/x-python-pickle", "text/csv; charset=latin-1", "text/csv; x=1",
                  "application/vnd.apache.parquet"):  # fmt: skip
        with pytest.raises(Refused) as refused:
            kind_of(other)
        assert refused.value.status == 415
