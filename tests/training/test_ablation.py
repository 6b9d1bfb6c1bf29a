"""What feature families are worth, by their absence."""

from typing import Any

import pytest

from qe.config import experiment
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.ablation import ablate, to_json


def loaded(demo_run: Any, features: str) -> experiment.Experiment:
    overrides = ["split.folds=3", "learner={kind: ridge, space: {}}", f"features={features}"]
    return experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides)


@pytest.mark.capability
def test_families_alone_and_left_out(demo_run: Any) -> None:
    ablation = ablate(loaded(demo_run, "[baseline17, surface]"), cache=demo_run.output / "cache", samples=200)
    assert list(ablation.report.systems) == [
        "all", "only baseline17", "only surface", "without baseline17", "without surface",
    ]  # fmt: skip
    assert ablation.sizes["only baseline17"] == 17
    assert ablation.sizes["all"] == 17 + ablation.sizes["only surface"]
    scores = {name: system.metrics["mae"] for name, system in ablation.report.systems.items()}
    assert scores["only surface"] == scores["without baseline17"]
    assert scores["only baseline17"] == scores["without surface"] != scores["all"]
    assert {c.system for c in ablation.report.comparisons} == set(ablation.report.systems) - {"all"}
    rows = list(ablation.curve)
    assert rows == sorted(rows) and rows[-1] == 160
    assert ablation.curve[160]["mae"] == pytest.approx(scores["all"])
    assert to_json(ablation)["columns"]["only baseline17"] == 17


def test_families_added_to_a_base(demo_run: Any) -> None:
    config = loaded(demo_run, "[baseline17, surface]")
    ablation = ablate(config, cache=demo_run.output / "cache", base=["baseline17"], samples=0)
    assert list(ablation.report.systems) == ["all", "base: baseline17", "base + surface"]
