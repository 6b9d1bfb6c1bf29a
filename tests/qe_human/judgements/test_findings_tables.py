"""The head-to-head tables of the findings of WMT 2012 (Tables 14 to 21), and orders by probability."""

from pathlib import Path

import numpy as np
import pytest

from qe_human.judgements.certainty import sign_tests, stars
from qe_human.judgements.collection import JudgedPair, PairwiseCounts
from qe_human.judgements.reading import read_judgements
from qe_human.ranking_method import RANKINGS
from tests.factories import Find

PRINTED = Path(__file__).with_name("head_to_head_2012.txt")
OTHER_WAY_ROUND = {"*": "‡", "†": "†", "‡": "*", "": ""}  # the legend has * for .10, the tables for .01


def tables() -> dict[str, dict[str, list[str]]]:
    """Language pair -> system of the row -> cells."""
    found: dict[str, dict[str, list[str]]] = {}
    rows: dict[str, list[str]] = {}
    for line in PRINTED.read_text("utf-8").splitlines():
        name, *cells = line.split()
        if cells and name != "#":
            rows[name] = cells
        elif name != "#":
            rows = found[name] = {}
    return found


@pytest.fixture(scope="module")
def judged(shared_data: Find) -> dict[str, JudgedPair]:
    return read_judgements([shared_data("human-rankings/raw/wmt12.RNK_results.csv.gz")])


def test_all_cells_and_marks(judged: dict[str, JudgedPair]) -> None:
    cells = marks = 0
    for pair, rows in tables().items():
        counts = judged[pair].counts.drop("_ref")
        at = [counts.systems.index(name) for name in rows]
        p = sign_tests(counts.wins)
        assert sorted(at) == list(range(len(counts.systems)))
        for row, printed in zip(at, rows.values(), strict=True):
            for column, cell in zip(at, printed, strict=True):
                if row == column:
                    assert cell == "-"
                    continue
                mark, share = cell[-1] if cell[-1] in "*†‡" else "", float(cell.rstrip("*†‡"))
                assert counts.wins[column, row] / counts.judged[row, column] == pytest.approx(
                    share, abs=0.0051
                )
                assert stars(p[row, column]) == OTHER_WAY_ROUND[mark], (pair, row, column)
                cells, marks = cells + 1, marks + bool(mark)
    assert cells == 1298 and marks == 802


def log_probability(order: list[int], counts: PairwiseCounts) -> float:
    """Sum over pairs of ln W / (W + L), from the winner's side in this order."""
    above, below = np.triu_indices(len(order), 1)
    first, second = np.array(order)[above], np.array(order)[below]
    won, lost = counts.wins[first, second], counts.wins[second, first]
    return float(np.log(won / (won + lost)).sum())


def test_the_most_probable_order_is_as_probable_as_any_other_method_s(judged: dict[str, JudgedPair]) -> None:
    for pair in judged.values():
        counts = pair.counts.drop("_ref")
        wins, ties = counts.wins.astype(np.float64), counts.ties.astype(np.float64)

        def probability(name: str, counts: PairwiseCounts = counts, both: tuple = (wins, ties)) -> float:  # type: ignore[type-arg]
            return log_probability(list(RANKINGS.get(name)().ranking(*both).order), counts)

        best = probability("most_probable")
        for name in ("feedback_arc_set", "bojar", "expected_wins", "bradley_terry"):
            assert best >= probability(name) - 1e-9
