"""Tables of results: made from the reports of runs, and put where a page wants them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.factories import refuses, script
from tests.shown import ROOT


@pytest.fixture(scope="module")
def results() -> Any:
    return script(ROOT / "docs" / "site" / "results.py")


def test_a_run_is_a_row_with_the_figures_of_its_report(results: Any, demo_run: Any) -> None:
    report = json.loads((demo_run.output / "report.json").read_text("utf-8"))
    name = report["experiment"]["name"]
    figures = report["cross_validation"]["systems"][name]
    (record,) = results.table([demo_run.output]).records()
    assert record["experiment"] == name and record["features"] == report["features"]["n"]
    assert record["MAE"] == figures["mae"]
    line = next(line for line in results.table([demo_run.output]).markdown().splitlines() if name in line)
    assert f"{figures['spearman']:.3f}" in line and f"{figures['ci']['delta_avg'][0]:.3f}" in line


def test_the_best_run_stands_first_and_a_page_gets_the_table(
    results: Any, demo_run: Any, tmp_path: Path
) -> None:
    report = json.loads((demo_run.output / "report.json").read_text("utf-8"))
    name = report["experiment"]["name"]
    for other, delta in (("worse", 0.1), ("better", 0.9)):
        (tmp_path / other).mkdir()
        systems = {other: report["cross_validation"]["systems"][name] | {"delta_avg": delta}}
        changed = {
            **report,
            "experiment": report["experiment"] | {"name": other},
            "cross_validation": report["cross_validation"] | {"systems": systems},
        }
        (tmp_path / other / "report.json").write_text(json.dumps(changed), "utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Runs\n\n{results.BEGIN}\nstale\n{results.END}\n\nafter\n", "utf-8")
    results.put(results.table([tmp_path / "worse", tmp_path / "better"]).markdown(), page)
    text = page.read_text("utf-8")
    assert re.findall(r"^\| (better|worse) ", text, re.MULTILINE) == ["better", "worse"]
    assert "stale" not in text and text.endswith("after\n")
    page.write_text("# Runs\n", "utf-8")
    refuses("has no place for the table", results.put, "", page)
