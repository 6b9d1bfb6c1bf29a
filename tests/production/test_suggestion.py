"""`qe suggest` on the demo's data; committee, space and draw against closed forms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from qe.getting_started.demo.run import EXPERIMENT
from qe.production.suggestion import _predicted, choose, components, disagreement, spread, standardised
from tests.factories import exit_code


@pytest.fixture
def options(demo_run: Any) -> list[object]:
    """Of the demo's experiment with a family that needs no resources."""
    return [
        EXPERIMENT, "--data-root", demo_run.output, "--set", "features=[surface]",
        "--set", "learner={kind: ridge}", "--cache-dir", demo_run.output / "cache",
    ]  # fmt: skip


@pytest.fixture
def pool(demo_run: Any, tmp_path: Path) -> Path:
    """The demo's test segments, two of them twice, a labelled one, and a row without a translation."""
    data = demo_run.output / "data"
    rows = [
        (f"t{i}", *pair)
        for i, pair in enumerate(zip(lines(data / "test.source"), lines(data / "test.target"), strict=True))
    ]
    labelled = ("labelled", lines(data / "train.source")[0], lines(data / "train.target")[0])
    rows = [rows[0], ("none", "a", ""), *rows, labelled]
    path = tmp_path / "pool.tsv"
    path.write_text("id\tsource\ttarget\n" + "".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.mark.parametrize("ending", ["tsv", "parquet", "csv.gz", "jsonl"])
@pytest.mark.capability
def test_a_table_of_what_to_annotate(
    ending: str, options: list[object], pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / f"next.{ending}"
    assert exit_code("suggest", *options, "-i", pool, "-n", 7, "-o", output, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    given = pd.read_csv(pool, sep="\t", keep_default_na=False)
    assert told["suggested"] == 7 and told["refused"] == {"empty target": 1}
    unique = given[given.target != ""].drop_duplicates(["source", "target"])
    assert told["candidates"] == len(unique) - 1  # the labelled one
    read = {
        "tsv": lambda: pd.read_csv(output, sep="\t"),
        "parquet": lambda: pd.read_parquet(output),
        "csv.gz": lambda: pd.read_csv(output),
        "jsonl": lambda: pd.read_json(output, lines=True),
    }
    table = read[ending]()
    assert table["rank"].tolist() == list(range(1, 8)) and table["id"].is_unique
    assert not {"labelled", "none"} & set(table["id"])
    for row in table.itertuples():
        there = given.iloc[row.row - 1]
        assert (there["id"], there["source"], there["target"]) == (row.id, row.source, row.target)
    assert (table["uncertainty"] > 0).all()


def test_more_than_there_are(options: list[object], pool: Path, tmp_path: Path, capsys: Any) -> None:
    assert exit_code("suggest", *options, "-i", pool, "-n", 5000, "-o", tmp_path / "next.tsv", "--quiet") == 2
    assert "5000 segments are requested, but only" in capsys.readouterr().err
    assert not (tmp_path / "next.tsv").exists()


GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(size=(200, 4)) * [1, 1, 1, 0.2]
LABELS = ROWS @ [1.0, -0.5, 0.2, 0.0] + GENERATOR.normal(size=200)
POOL = GENERATOR.normal(size=(300, 4))


def test_members_are_ridge_regressions() -> None:
    theirs = Ridge(alpha=7.0).fit(ROWS, LABELS).predict(POOL)
    np.testing.assert_allclose(_predicted(ROWS, LABELS, POOL, 7.0), theirs, atol=1e-10)


def test_disagreement_is_the_standard_error_of_least_squares() -> None:
    """sigma^2 x' (X' X)^-1 x, which the bootstrap estimates; with so little noise nothing is shrunk much."""
    labels = ROWS @ [1.0, -0.5, 0.2, 0.3] + 0.1 * GENERATOR.normal(size=200)
    inverse = np.linalg.inv((ROWS - ROWS.mean(0)).T @ (ROWS - ROWS.mean(0)))
    centred = POOL - ROWS.mean(0)
    expected = 0.1 * np.sqrt(1 / 200 + np.einsum("nd,de,ne->n", centred, inverse, centred))
    ours = disagreement(ROWS, labels, POOL, seed=0, members=200)
    assert spearmanr(ours, expected).statistic > 0.97
    assert np.median(ours / expected) == pytest.approx(1, abs=0.15)


def test_undefined_values_and_constant_columns_decide_nothing() -> None:
    labelled, pool = ROWS.copy(), POOL.copy()
    pool[3, 0] = np.nan
    extra = np.full((500, 1), 7.0)
    nothing = np.full((500, 1), np.nan)
    table = np.hstack([np.vstack([labelled, pool]), extra, nothing])
    own, other = standardised(table[:200], table[200:])
    assert own.shape == (200, 4) and other.shape == (300, 4)
    assert np.isfinite(other).all() and np.abs(np.vstack([own, other])).max() <= 4


def test_components_are_whitened() -> None:
    own, other = components(ROWS, POOL)
    points = np.vstack([own, other])
    np.testing.assert_allclose(points.T @ points / len(points), np.eye(4), atol=1e-9)


def test_no_point_is_drawn_twice_and_copies_come_last() -> None:
    points = np.repeat(GENERATOR.normal(size=(5, 2)), 4, axis=0)
    drawn = spread(points, np.ones(20), np.empty((0, 2)), 20, seed=1)
    assert sorted(drawn.tolist()) == list(range(20))
    assert len({drawn[i] // 4 for i in range(5)}) == 5


@pytest.mark.slow
def test_first_draws_follow_weight_and_distance() -> None:
    """One known point at 0: probabilities are weight times squared distance."""
    points = np.array([[1.0], [2.0], [3.0]])
    weights = np.array([9.0, 1.0, 1.0])
    first = [spread(points, weights, np.zeros((1, 1)), 1, seed)[0] for seed in range(2000)]
    expected = np.array([9, 4, 9]) / 22
    np.testing.assert_allclose(np.bincount(first, minlength=3) / 2000, expected, atol=0.035)


def test_what_the_labels_leave_open_is_drawn_first() -> None:
    """Labelled rows say nothing about the last direction; half of the pool lies along it."""
    labelled = np.column_stack([GENERATOR.normal(size=(100, 2)), GENERATOR.normal(size=100) * 0.01])
    pool = GENERATOR.normal(size=(400, 3)) * 0.3
    pool[:200, 2] = GENERATOR.normal(size=200) * 3
    drawn, _ = choose(labelled, labelled[:, 0] + GENERATOR.normal(size=100), pool, 40, seed=0)
    assert (drawn < 200).mean() > 0.8


def test_the_same_seed_draws_the_same() -> None:
    again = [choose(ROWS, LABELS, POOL, 30, seed=3)[0].tolist() for _ in range(2)]
    assert again[0] == again[1] != choose(ROWS, LABELS, POOL, 30, seed=4)[0].tolist()
