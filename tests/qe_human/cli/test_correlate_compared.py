"""`qe correlate` of what `qe compare` writes: no identifiers, known directions, names, few systems."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.factories import prints

RUN = "system\trun\tsegment\tbleu\tter\tlength\n"


@pytest.fixture(autouse=True)
def scored(tmp_path: Path, monkeypatch: Any) -> None:
    """Two systems with two runs, scored as `qe compare` writes them, and two tables of people."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    own, tables = [], {"human": ["system\tsegment\tscore"], "renamed": ["system\tsegment\tscore"]}
    other = ["system\tsegment\tcost\tter"]
    for system in "AB":
        for segment in range(1, 41):
            quality = rng.normal()
            for run in (1, 2):
                bleu, ter = quality + rng.normal(0, 0.5), max(0, 5 - quality + rng.normal(0, 0.5))
                own.append(f"{system}\t{run}\t{segment}\t{bleu}\t{ter}\t{rng.normal()}")
            other.append(f"{system}\t{segment}\t{-quality + rng.normal(0, 0.5)}\t{quality - 9}")
            tables["human"].append(f"{system}\t{segment}\t{quality}")
            tables["renamed"].append(f"sys{system}\t{segment}\t{quality}")
    Path("segments.tsv").write_text(RUN + "\n".join(own) + "\n")
    Path("other.tsv").write_text("\n".join(other) + "\n")
    for name, lines in tables.items():
        Path(f"{name}.tsv").write_text("\n".join(lines) + "\n")


ROWS: list[tuple[str, int, list[str], list[str]]] = [
    (
        "--human human.tsv --metrics segments.tsv",
        0,
        ["claim: new segments)", "lower is better, known by name: ter", "(--columns reads it): length",
         "system_spearman (fewer than 7 systems: tests exchange segments; --correlations shows them)"],
        ["\nrun ", "\nlength ", "correlates negatively", "of systems", "cannot be decided", "?"],
    ),
    (
        "--human human.tsv --metrics other.tsv",
        0,
        ["'cost' correlates negatively with people: which direction is better? --lower-is-better names"],
        ["'ter' correlates negatively", "known by name"],
    ),
    (
        "--human renamed.tsv --metrics segments.tsv",
        2,
        ["humans scored systems sysA, sysB and segments 1, 2,", "'bleu' scores systems A, B and segments 1,",
         "systems and segments are joined by their names"],
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "contained", "absent"), ROWS)
def test_what_is_printed(
    arguments: str, code: int, contained: list[str], absent: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    prints(f"correlate {arguments} --samples 200 --permutations 200", contained, absent, code)
