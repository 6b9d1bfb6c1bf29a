"""A board over data sets: figures, macro averages, and p-values of exchanges inside each data set."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.basics.array_types import FloatArray
from qe.evaluation.leaderboard import Outputs, board_of_pairs, exchanged_p
from tests.factories import Monkeypatch, ran

LABEL = {"name": "da", "low": 0, "high": 100, "higher_is_better": True}


def run(folder: Path, name: str, data: str, learner: str, gold: FloatArray, predicted: FloatArray) -> Path:
    """What the board reads of an output folder."""
    folder.mkdir(parents=True)
    experiment = {
        "name": name, "description": "", "evaluation": {"metric": "mae"}, "learner": {"kind": learner},
        "dataset": {"format": "table", "path": data, "pair": data},
    }  # fmt: skip
    report = {
        "experiment": experiment, "recipe": {"dataset": data}, "data": {"name": "mlqe", "label": LABEL},
        "features": {"n": 3}, "cross_validation": {"selected_on_these_folds": False}, "nested": None,
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report), "utf-8")
    ids = [f"{data}{i}" for i in range(len(gold))]
    table = pd.DataFrame({"split": "train", "id": ids, "gold": gold, "predicted": predicted})
    table.to_parquet(folder / "predictions.parquet")
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    rng, made = np.random.default_rng(1), []
    golds = {pair: rng.uniform(0, 100, size) for pair, size in (("ro-en", 40), ("en-de", 60))}
    for learner, noise in (("ridge", 20.0), ("trees", 8.0)):
        for pair, gold in golds.items():
            predicted = gold + rng.normal(0, noise, len(gold))
            name = f"x-{learner}-{pair}"
            made.append(run(tmp_path / name, name, pair, learner, gold, predicted))
    gold = golds["ro-en"]
    return [*made, run(tmp_path / "x-mean-ro-en", "x-mean-ro-en", "ro-en", "mean", gold, np.full(40, 50.0))]


def test_a_column_per_pair_and_the_mean_of_them(folders: list[Path]) -> None:
    board = board_of_pairs(folders, samples=200)
    assert board.metric == "mae" and board.data == ["mlqe ro-en da", "mlqe en-de da"]
    trees, ridge, mean = board.systems
    assert (trees.name, ridge.name, mean.name) == ("x-trees", "x-ridge", "x-mean-ro-en")
    errors = []
    for folder in folders[2:4]:
        table = pd.read_parquet(folder / "predictions.parquet")
        errors.append(float((table["gold"] - table["predicted"]).abs().mean()))
    assert list(trees.figures.values()) == pytest.approx(errors)
    assert trees.average == pytest.approx(np.mean(errors))
    assert np.isnan(mean.average) and mean.p is None and set(mean.figures) == {"mlqe ro-en da"}
    assert board.baseline == "x-ridge" and ridge.p is None and trees.p is not None and trees.p < 0.02


@pytest.mark.slow
def test_p_is_the_share_of_all_exchanges_inside_the_pairs() -> None:
    """Against every one of the 2^8 exchanges of two small data sets, counted one by one."""
    rng = np.random.default_rng(3)
    pairs = []
    for n in (3, 5):
        gold = rng.normal(size=n)
        one, other = (gold + rng.normal(size=n) * s for s in (0.5, 1.0))
        pairs.append((Outputs(gold, one, 1.0, "mae"), Outputs(gold, other, 1.0, "mae")))
    losses = [[np.abs(o.predicted - o.gold) for o in pair] for pair in pairs]

    def macro(signs: Any) -> float:
        first = np.mean(signs[:3] * (losses[0][0] - losses[0][1]))
        return float((first + np.mean(signs[3:] * (losses[1][0] - losses[1][1]))) / 2)

    observed = abs(macro(np.ones(8)))
    exact = np.mean([abs(macro(np.array(s))) >= observed - 1e-12 for s in product((1, -1), repeat=8)])
    assert exchanged_p(pairs, "mae", 4000, 0) == pytest.approx(exact, abs=0.03)


def test_equal_systems_have_p_1() -> None:
    gold = np.arange(6.0)
    same = Outputs(gold, gold[::-1].copy(), -1.0, "mae")
    assert exchanged_p([(same, same), (same, same)], "spearman", 50, 0) == 1.0


@pytest.mark.slow
def test_qe_compare_shows_it(folders: list[Path], monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = ran("compare", *folders, "--samples", "100").out
    assert "macro average" in told and "mlqe en-de da" in told
    systems = json.loads(ran("compare", *folders, "--samples", "100", "--json").out)["systems"]
    assert [each["name"] for each in systems] == ["x-trees", "x-ridge", "x-mean-ro-en"]
    assert systems[2]["average"] is None
