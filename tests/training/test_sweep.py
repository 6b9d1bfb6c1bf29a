"""A sweep: which runs it makes, and how they spread over seeds."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from qe.training.batch import spread_table
from qe.training.check import plans_of, settings_of

FILE = """name: swept
dataset:
  format: table
  path: x.tsv
  label: {name: effort, low: 1, high: 5, higher_is_better: true}
  source_language: en
  target_language: es
features: [surface]
learner: {kind: ridge}
"""


def write(folder: Path) -> None:
    (folder / "x.yaml").write_text(FILE)
    (folder / "x.tsv").write_text("source\ttarget\tscore\na\tb\t3\n")


def test_every_combination_is_a_run() -> None:
    made = settings_of(["learner.kind=ridge,lightgbm", "seed=0..2"])
    assert len(made) == 6 and made[-1] == {"learner.kind": "lightgbm", "seed": "2"}
    (one,) = settings_of(["features=[surface, baseline17]"])
    assert one == {"features": '["surface", "baseline17"]'}


def test_plans_are_named_apart_and_runs_by_what_differs(tmp_path: Path) -> None:
    write(tmp_path)
    plans = plans_of(
        tmp_path / "x.yaml",
        ["learner.kind=ridge,mean", "seed=0..1"],
        data_root=None,
        overrides=["search.trials=3"],
    )
    names = [plan.experiment.name for _, plan in plans]
    assert names == ["swept-ridge-seed0", "swept-ridge-seed1", "swept-mean-seed0", "swept-mean-seed1"]
    assert [plan.experiment.run_name for _, plan in plans][-1] == "mean, seed=1"
    assert all(plan.experiment.search.trials == 3 for _, plan in plans)


def outcome(name: str, mae: float) -> Any:
    experiment = {"name": name, "evaluation": {"metric": "mae"}}
    section = {"systems": {name: {"mae": mae}}}
    return SimpleNamespace(report={"experiment": experiment, "cross_validation": section, "nested": None})


def test_the_spread_is_over_seeds_best_first() -> None:
    values = {"ridge": (0.5, 0.7), "svr_rbf": (0.4, 0.42)}
    swept = [
        ({"learner.kind": kind, "seed": str(seed)}, outcome(f"{kind}{seed}", value))
        for kind, both in values.items()
        for seed, value in enumerate(both)
    ]
    table = spread_table(swept)
    assert table is not None
    assert [list(row) for row in table.rows] == [
        ["learner.kind=svr_rbf", "2", "0.4100", "0.0141", "0.4000", "0.4200"],
        ["learner.kind=ridge", "2", "0.6000", "0.1414", "0.5000", "0.7000"],
    ]
    assert spread_table(swept[:1]) is None
