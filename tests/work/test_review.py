"""Review in XLSX: from XLIFF to a workbook for reviewers, and back by the ids."""

from pathlib import Path

import pytest

from tests.factories import qe
from tests.scoring.test_in_place import XLIFF

openpyxl = pytest.importorskip("openpyxl")

COSTS = "good: 4\npublish_bad: 10\npost_edit: 1\npost_edit_worst: 5\nretranslate: 3.5\n"


def test_a_workbook_tells_what_to_do_with_every_segment(demo_model: Path, tmp_path: Path) -> None:
    (tmp_path / "project.xlf").write_text(XLIFF, "utf-8")
    (tmp_path / "costs.yaml").write_text(COSTS)
    files = ("--input", tmp_path / "project.xlf", "--output", tmp_path / "review.xlsx")
    done = qe("score", "-m", demo_model, *files, "--triage", tmp_path / "costs.yaml", "--flags")
    assert done.code == 0 and "2 of 3 rows scored: " in done.out
    assert all(action in done.out for action in ("publish", "post-edit", "retranslate"))
    book = openpyxl.load_workbook(tmp_path / "review.xlsx")
    header, *rows = book.active.iter_rows(values_only=True)
    assert {"id", "source", "target", "score", "action", "flags", "state"} <= {*header}
    place = header.index("id")
    assert [row[place] for row in rows] == ["1", "2", "3"]  # the units' ids, by which one comes back
