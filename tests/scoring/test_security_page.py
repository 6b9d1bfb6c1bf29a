"""Rows that docs/security.md lists get no score and the reason that it states."""

import json
import re
from pathlib import Path

import pytest

from qe.data.table_rows import read_rows
from tests.factories import score_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
TABLE = PAGE.read_text("utf-8").split("## Rows without a score")[1].split("\n## ")[0]
ROWS = re.findall(r"^\| (`[^|]+`|[^|`]+) \| `([^`]+)` \|$", TABLE, re.MULTILINE)
LONG = {"2,001 words": "no " * 2001, "20,001 characters": "x" * 20_001, "2,000 words": "no " * 2000}


def line_of(shown: str) -> str:
    """The line of JSON that a cell of the table shows or describes."""
    if shown.startswith("`"):
        return shown.strip("`")
    return json.dumps({"source": "a", "target": LONG[shown.removeprefix("a target of ")]})


@pytest.mark.capability
def test_rows_of_the_page_get_the_reason_of_the_page(demo_model: Path, tmp_path: Path) -> None:
    assert len(ROWS) >= 8
    lines = [line_of(row) for row, _ in ROWS] + [line_of("a target of 2,000 words")]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    summary = score_file(demo_model, [tmp_path / "in.jsonl"], tmp_path / "out.jsonl")
    rows = [row for row, _ in read_rows(tmp_path / "out.jsonl")]
    assert [row["reason"] for row in rows] == [*(reason for _, reason in ROWS), ""]
    assert [row["score"] is None for row in rows] == [True] * len(ROWS) + [False]
    assert (summary.rows, summary.scored) == (len(lines), 1)
