"""The table "System by system" of docs/results/wmt12.md: its counts are those of the files today."""

import runpy

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "results" / "wmt12.md").read_text("utf-8")
SCRIPT = runpy.run_path(str(ROOT / "docs" / "site" / "features_of_papers.py"))


@pytest.mark.parametrize(
    ("columns", "total", "text"),
    [(54, 70, "54 of 70"), (59, 56, "56 of 56, and 3 more"), (36, None, "36"), (0, 0, "none")],
)
def test_shares_of_features(columns: int, total: int | None, text: str) -> None:
    assert SCRIPT["_share"](columns, total) == text


@pytest.mark.slow
def test_the_page_has_the_counts_of_the_files() -> None:
    assert SCRIPT["renewed"](PAGE) == PAGE


def test_every_experiment_of_a_paper_has_a_row() -> None:
    table = PAGE.partition(SCRIPT["BEGIN"])[2].partition(SCRIPT["END"])[0]
    rows = [line.removeprefix("| ").split(" | ")[0].split(", ") for line in table.splitlines() if "|" in line]
    own = {"best", "best-encoder", "best-own", "all-blackbox", "compact"}
    files = {file.stem for file in (ROOT / "experiments" / "wmt12").glob("*.yaml")}
    assert {name for row in rows[2:] for name in row} == files - own
