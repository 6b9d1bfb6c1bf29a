"""Tables that nothing can be learned of, and where the refusal points."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from qe.data.headers import UNSTATED, higher_is_better
from qe.getting_started.demo.generation import generate
from tests.factories import refuses
from tests.getting_started.init.test_experiment import MLQE_PE, begun, recognised

SOURCES, SCORES = [f"a house {row}" for row in range(310)], [1.5, 2.5] * 155
ROWS = pd.DataFrame({"source": SOURCES, "target": "una casa", "score": SCORES})
TWICE = ROWS.assign(source=[SOURCES[1], *SOURCES[1:]])
# What is made in a folder, and where the refusal points.
CALLS: dict[str, tuple[Callable[[Path], object], str]] = {
    "rows": (lambda folder: begun(folder, ROWS[:299], own_corpus=True), "299 rows are too few"),
    "a source": (lambda folder: begun(folder, TWICE, own_corpus=True), "1 rows have the source"),
    "a label": (lambda folder: begun(folder, ROWS.assign(score=3)), "all labels are 3:"),
    "words": (lambda folder: begun(folder, ROWS.assign(score=["sí", "no"] * 155)), "'no' and 'sí'.* OK for"),
    "columns": (lambda folder: recognised(folder, MLQE_PE, {}), "the scores: scores, mean, z_mean"),
}
for header in UNSTATED:
    CALLS[f"direction of {header}"] = (lambda _, of=header: higher_is_better(of, None, "say"), "direction")
for size in ("pairs", "train", "test", "new"):
    CALLS[size] = (lambda folder, of=size: generate(folder / "new", **{of: 0}), f"{size} .*at least 1, .* 0")


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str, tmp_path: Path) -> None:
    call, place = CALLS[case]
    refuses(place, call, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"a.tsv", "mine.tsv"}
