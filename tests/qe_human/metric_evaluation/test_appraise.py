"""Exports of Appraise: a case more is a line more."""

from pathlib import Path

import pytest

from qe_human.metric_evaluation.reading import read_human_table
from tests.factories import Find, refuses

# Lines, column -> (system, segment) -> score; or the words of the refusal.
CASES: dict[str, tuple[str, str | None, dict[tuple[str, str], float] | str]] = {
    "segments": (
        "u1,A,7,TGT,eng,deu,80\nu1,B,7,TGT,eng,deu,40\n", None, {("A", "7"): 80, ("B", "7"): 40},
    ),
    "two annotators": ("u1,A,7,TGT,eng,deu,80\nu2,A,7,TGT,eng,deu,60\n", None, {("A", "7"): 70}),
    "systems that share a translation": (
        "u1,A+B,7,TGT,eng,deu,80\n", None, {("A", "7"): 80, ("B", "7"): 80},
    ),
    "quality control": (
        "u1,A,7,TGT,eng,deu,80\nu1,A,7,CHK,eng,deu,10\nu1,A,7,BAD,eng,deu,1\nu1,r,7,REF,eng,deu,100\n",
        None,
        {("A", "7"): 80},
    ),
    "whole documents": (
        "u1,A,7,TGT,eng,deu,80,doc1,False,1.5,2.5\nu1,A,8,TGT,eng,deu,20,doc1,True,1.5,2.5\n",
        None,
        {("A", "7"): 80},
    ),
    "items of documents": (
        "u1,A,1,TGT,eng,deu,80,d1,False\nu1,A,1,TGT,eng,deu,20,d2,False\n",
        None,
        {("A", "d1:1"): 80, ("A", "d2:1"): 20},
    ),
    "standardised": (
        "u1,A,1,TGT,eng,deu,10\nu1,A,2,TGT,eng,deu,20\nu1,A,3,TGT,eng,deu,30\n"
        "u2,A,1,TGT,eng,deu,90\nu2,A,2,TGT,eng,deu,95\nu2,A,3,TGT,eng,deu,100\n",
        "z",
        {("A", "1"): -1, ("A", "2"): 0, ("A", "3"): 1},
    ),
    "two pairs": ("u1,A,1,TGT,eng,deu,1\nu1,A,1,TGT,eng,ces,2\n", None, "which language pair"),
    "another line": ("u1,A,1,TGT,eng,deu,1\nu1,A,1,TGT,eng,deu\n", None, ":2: expected annotator, system"),
    "no judgements": ("u1,A,1,BAD,eng,deu,1\n", None, "there are no judgements of translations"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_exports(case: str, tmp_path: Path) -> None:
    content, column, expected = CASES[case]
    path = tmp_path / "scores.csv"
    path.write_text(content, "utf-8")
    if isinstance(expected, str):
        refuses(expected, read_human_table, path, column)
    else:
        assert read_human_table(path, column).segments == pytest.approx(expected)


def test_a_pair_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("u1,A,1,TGT,eng,deu,1\nu1,A,1,TGT,eng,ces,2\n", "utf-8")
    assert read_human_table(path, None, "eng-ces").segments == {("A", "1"): 2}


@pytest.mark.parametrize(("name", "count"), [("tutorial", 6), ("incomplete", 1)])
def test_tutorials_and_fillers_are_left_out(name: str, count: int, shared_data: Find) -> None:
    table = read_human_table(shared_data("cases/appraise") / f"{name}.csv", "z")
    assert {segment for _, segment in table.segments} == {"1", "2", "3", "4"} and len(table.segments) == 8
    assert str(count) in table.notes[0]
