"""Prediction intervals: they hold what they promise, on simulated data and on WMT12."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta, norm

from features.storage.files import digest
from qe.data import LabelScale, make_folds
from qe.data.table_rows import read_rows
from qe.evaluation.coverage import coverage
from qe.models import Model
from qe.models.intervals import CalibrationRows as Rows
from qe.models.intervals import Intervals, conformal_quantile, cross_conformal, split_conformal
from qe.scoring import Options
from tests.factories import refuses, score_file

OPEN = LabelScale("label", None, None, True)
EFFORT = LabelScale("effort", 1, 5, True)
Data = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def simulated(n: int, seed: int, spread: float = 1.0) -> Data:
    """Features, the true mean (as prediction) and labels whose noise grows from .2 to .2 + `spread`."""
    generator = np.random.default_rng(seed)
    features = generator.random((n, 3))
    predicted = features @ [1.0, 2.0, 0.0]
    gold = predicted + (0.2 + spread * features[:, 2]) * generator.normal(size=n)
    return features, predicted, gold


def held_out(n: int, folds: int = 5) -> list[NDArray[np.int64]]:
    return [test for _, test in make_folds(n, folds)]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_coverage_on_exchangeable_data(level: float) -> None:
    """Over many calibration sets the mean coverage is the level, and its spread that of a Beta law.

    Split conformal: coverage given the calibration set is Beta(r, n + 1 - r), r = ceil((n + 1) level)
    (Vovk 2012); its mean lies within 1 / (n + 1) above the level.
    """
    n, covered = 99, []
    features, predicted, gold = simulated(400, 0)
    fitted = cross_conformal(Rows(features, predicted, gold), held_out(400), OPEN)
    for seed in range(1, 151):
        features, predicted, gold = simulated(n + 400, seed)
        intervals = fitted.recalibrated(Rows(features[:n], predicted[:n], gold[:n]))
        low, high = intervals.bounds(features[n:], predicted[n:], level)
        covered.append(np.mean((low <= gold[n:]) & (gold[n:] <= high)))
    rank = math.ceil(round((n + 1) * level, 9))
    law = beta(rank, n + 1 - rank)
    error = math.sqrt((law.var() + level * (1 - level) / 400) / len(covered))
    assert abs(np.mean(covered) - law.mean()) < 4 * error
    assert np.std(covered) == pytest.approx(math.sqrt(law.var() + level * (1 - level) / 400), rel=0.3)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([3, 5, 10]), st.sampled_from([0.8, 0.9]))
def test_out_of_fold_residuals_cover_new_rows(seed: int, folds: int, level: float) -> None:
    features, predicted, gold = simulated(2400, seed)
    intervals = cross_conformal(
        Rows(features[:1200], predicted[:1200], gold[:1200]), held_out(1200, folds), OPEN
    )
    low, high = intervals.bounds(features[1200:], predicted[1200:], level)
    outcome = np.mean((low <= gold[1200:]) & (gold[1200:] <= high))
    assert abs(outcome - level) < 5 * math.sqrt(2 * level * (1 - level) / 1200)  # calibration and test error
    measured = next(entry for entry in intervals.measured if entry.level == level)
    assert abs(measured.coverage - level) < 0.03 and measured.n == 1200


def test_harder_segments_get_wider_intervals_and_so_hold_their_share() -> None:
    features, predicted, gold = simulated(8000, 3)
    intervals = cross_conformal(Rows(features[:4000], predicted[:4000], gold[:4000]), held_out(4000), OPEN)
    test, labels = features[4000:], gold[4000:]
    low, high = intervals.bounds(test, predicted[4000:], 0.9)
    for third in np.array_split(np.argsort(test[:, 2]), 3):
        assert np.mean((low <= labels)[third] & (labels <= high)[third]) == pytest.approx(0.9, abs=0.04)
    constant = np.quantile(np.abs(gold[:4000] - predicted[:4000]), 0.9)
    easy, hard = (np.abs(labels - predicted[4000:])[rows] for rows in (test[:, 2] < 0.2, test[:, 2] > 0.8))
    assert np.mean(easy <= constant) > 0.98 and np.mean(hard <= constant) < 0.84  # what adaptation is for
    assert np.corrcoef(high - low, 0.2 + test[:, 2])[0, 1] > 0.95


@pytest.mark.slow
def test_normal_errors_of_constant_size_give_the_normal_quantile() -> None:
    features, predicted, gold = simulated(20_000, 4, spread=0.0)
    intervals = cross_conformal(Rows(features, predicted, gold), held_out(20_000), OPEN)
    low, high = intervals.bounds(features, predicted, 0.9)
    assert np.mean(high - low) == pytest.approx(2 * norm.ppf(0.95) * 0.2, rel=0.02)


def test_quantile_by_hand() -> None:
    scores = np.arange(1.0, 10.0)
    assert conformal_quantile(scores, 0.9) == 9.0 and conformal_quantile(scores, 0.5) == 5.0


def test_bounds_stay_on_the_scale_around_the_score_and_grow_with_the_level() -> None:
    features, predicted, gold = simulated(300, 5)
    gold, predicted = EFFORT.clip(1 + gold), EFFORT.clip(1 + predicted)
    intervals = cross_conformal(Rows(features, predicted, gold), held_out(300), EFFORT)
    inner, outer = (intervals.bounds(features, predicted, level) for level in (0.8, 0.95))
    assert (outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all()
    assert (inner[0] <= predicted).all() and (predicted <= inner[1]).all()
    assert outer[0].min() >= 1 and outer[1].max() <= 5


@pytest.mark.parametrize(("low", "high"), [(None, None), (1.0, None), (None, 5.0), (1.0, 5.0)])
def test_an_interval_ends_beyond_the_scale_where_the_scale_has_no_end(
    low: float | None, high: float | None
) -> None:
    features, predicted, gold = simulated(300, 5)
    gold, predicted = EFFORT.clip(1 + gold), EFFORT.clip(1 + predicted)
    scale = LabelScale("effort", low, high, higher_is_better=True)
    lower, upper = cross_conformal(Rows(features, predicted, gold), held_out(300), scale).bounds(
        features, predicted, 0.95
    )
    assert (lower.min() < 1) == (low is None) and (upper.max() > 5) == (high is None)


def test_undefined_and_constant_features_and_perfect_predictions() -> None:
    features, predicted, gold = simulated(200, 6)
    features[::3, 0], features[:, 1] = np.nan, np.nan
    intervals = cross_conformal(Rows(features, predicted, gold), held_out(200), OPEN)
    assert np.isfinite(intervals.bounds(features, predicted, 0.9)).all()
    exact = cross_conformal(Rows(features, gold, gold), held_out(200), OPEN)
    low, high = exact.bounds(features, gold, 0.9)
    assert np.array_equal(low, gold) and np.array_equal(high, gold)


def test_difficulty_is_bounded_and_finds_what_makes_errors_large() -> None:
    features, predicted, gold = simulated(5000, 7)
    difficulty = cross_conformal(Rows(features, predicted, gold), held_out(5000), OPEN).difficulty
    far = difficulty.predict(np.array([[0.5, 0.5, 100.0], [0.5, 0.5, -100.0]]), np.array([1.5, 1.5]))
    mean = np.abs(gold - predicted).mean()
    assert far.tolist() == pytest.approx([2 * mean, mean / 2])
    slope = np.sqrt(2 / np.pi)  # E|N(0, s)| = s sqrt(2 / pi), and s = .2 + x
    assert difficulty.coefficients[2] == pytest.approx(slope, rel=0.15)


def test_measured_coverage_by_hand() -> None:
    gold = np.array([1.0, 2.0, 3.0, 4.0])
    entry = coverage(gold, gold - [1, 1, -1, 1], gold + 1, 0.9)
    assert (entry.coverage, entry.width, entry.n) == (0.75, 1.5, 4) and entry.ci[0] <= 0.75 <= entry.ci[1]


def test_wmt12_ninety_percent_hold_ninety_percent(shared_data: Any) -> None:
    """The baseline of the task in cross-validation: 88 to 92 % of the true efforts lie inside."""
    from features.core.feature_set import FeatureSet
    from qe.config import experiment
    from qe.models.pipeline import Candidate
    from qe.training.extraction import Extraction
    from qe.training.objective import FoldData
    from qe.training.reading import read_dataset, training_split

    root = shared_data("wmt12-qe").parent
    file = Path(__file__).resolve().parents[2] / "experiments" / "wmt12" / "baseline.yaml"
    loaded = experiment.load(file, data_root=root)
    dataset = read_dataset(loaded)
    training = training_split(dataset, loaded)
    assert training.scores is not None
    table = Extraction(FeatureSet.make(loaded.features, None), None).static(training.segments)
    candidate = Candidate("svr_rbf", {"C": 4, "gamma": 0.01, "epsilon": 0.2})
    predicted = np.full(len(training), np.nan)
    folds = make_folds(len(training), 5)
    for train, test in folds:
        labels = training.scores[train], training.scores[test]
        fold = FoldData(table.iloc[train], labels[0], None, table.iloc[test], labels[1], test)
        predicted[test] = fold.predict(candidate, dataset.scale, 0)
    intervals = cross_conformal(
        Rows(table.to_numpy(), predicted, training.scores), [test for _, test in folds], dataset.scale
    )
    by_name = {entry.level: entry for entry in intervals.measured}
    assert 0.88 <= by_name[0.9].coverage <= 0.92
    errors, difficulty = (
        np.abs(training.scores - predicted),
        intervals.difficulty.predict(table.to_numpy(), predicted),
    )
    quarters = [errors[rows].mean() for rows in np.array_split(np.argsort(difficulty), 4)]
    assert quarters == sorted(quarters) and quarters[3] > 1.3 * quarters[0]


def test_scoring_adds_the_interval(demo_model: Path, tmp_path: Path) -> None:
    path = demo_model.parent / "data" / "new.tsv"
    rows = [columns for columns, _ in read_rows(path)][:30]
    text = "source\ttarget\n" + "".join(f"{r['source']}\t{r['target']}\n" for r in rows) + "a\t \n"
    (tmp_path / "in.tsv").write_text(text)
    score_file(
        demo_model, [tmp_path / "in.tsv"], tmp_path / "out.jsonl", options=Options(interval=0.9), workers=1
    )
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert list(lines[0]) == ["id", "score", "low", "high", "reason"]
    model = Model.load(demo_model)
    segments = model.segments({k: [r[k] for r in rows] for k in ("source", "target")})
    features = model.features(segments)
    scores, _ = model.judge(segments, features)
    low, high = Intervals.load(demo_model).bounds(features.to_numpy(), scores, 0.9)
    assert [(line["low"], line["high"]) for line in lines[:30]] == list(zip(low, high, strict=True))
    assert lines[30] == {"id": "31", "score": None, "low": None, "high": None, "reason": "empty target"}


def test_training_reports_the_coverage(demo_run: Any) -> None:
    entries = {entry["level"]: entry for entry in demo_run.report["intervals"]["coverage"]}
    assert set(entries) == {0.5, 0.8, 0.9, 0.95} and entries[0.9]["n"] == 240
    assert 0.84 <= entries[0.9]["coverage"] <= 0.96


def test_split_conformal_intervals_measure_their_coverage_on_rows_left_out() -> None:
    features, predicted, gold = simulated(1500, 10)
    fitted = cross_conformal(Rows(features[:500], predicted[:500], gold[:500]), held_out(500), OPEN)
    rest = Rows(features[500:], predicted[500:], gold[500:])
    outcome = split_conformal(fitted, rest)
    assert np.array_equal(outcome.scores, fitted.recalibrated(rest).scores) and outcome.method == "split"
    assert outcome.difficulty is fitted.difficulty
    for entry in outcome.measured:
        assert entry.n == 1000
        assert abs(entry.coverage - entry.level) < 4 * math.sqrt(entry.level * (1 - entry.level) / 1000)
    few = split_conformal(fitted, rest.take(np.arange(15)))
    assert [entry.level for entry in few.measured] == [0.5, 0.8, 0.9]  # 12 rows cannot promise .95
    refuses("4 rows cannot calibrate", split_conformal, fitted, rest.take(np.arange(4)))


@pytest.fixture(scope="module")
def small_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with a labelled test split, and an experiment on it that needs no resources."""
    from qe.getting_started.demo.generation import generate
    from qe.getting_started.demo.run import EXPERIMENT

    folder = tmp_path_factory.mktemp("split")
    generate(folder / "data", pairs=50, train=150, test=60)
    text = EXPERIMENT.read_text("utf-8").replace("features: [baseline17]", "features: [surface]")
    lines = [line for line in text.splitlines() if not line.startswith("resources:")]
    (folder / "small.yaml").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    return folder


Train = Callable[..., Any]


@pytest.fixture
def trained(small_task: Path, demo_run: Any, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Trains the small experiment with overrides, in the store of the demo."""
    from qe.config.experiment import load
    from qe.training.check import check
    from qe.training.train import train

    monkeypatch.chdir(small_task)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{demo_run.output / 'mlflow.db'}")

    def run(*overrides: str) -> Any:
        fixed = ["learner={kind: ridge, params: {alpha: 10}, space: {}}", "tracking.register=false"]
        loaded = load(small_task / "small.yaml", overrides=[*fixed, *overrides])
        return train(
            check(loaded), small_task / "-".join(["run", *map(digest, overrides)]), cache=small_task / "cache"
        )

    return run


def test_an_experiment_sets_rows_aside_for_split_conformal_intervals(trained: Train) -> None:
    outcome = trained("intervals={method: split, share: 0.25}")
    intervals = outcome.report["intervals"]
    assert intervals["method"] == "split" and intervals["n"] in (37, 38)
    notes = outcome.report["data"]["notes"]
    assert any(f"{intervals['n']} training segments were set aside" in note for note in notes)
    loaded = Intervals.load(outcome.output / "model")
    assert loaded.method == "split" and len(loaded.scores) == intervals["n"]
    cross = trained()
    assert cross.report["intervals"]["method"] == "cross" and cross.report["intervals"]["n"] == 150


def test_another_labelled_split_calibrates(small_task: Path, trained: Train) -> None:
    outcome = trained("intervals={method: split, calibration: test}")
    assert outcome.report["intervals"]["n"] == 60
    data = small_task / "data"
    gold = np.loadtxt(data / "test.scores")
    columns = {
        "source": (data / "test.source").read_text("utf-8").splitlines(),
        "target": (data / "test.target").read_text("utf-8").splitlines(),
    }
    segments = outcome.model.segments(columns)
    features = outcome.model.features(segments)
    predicted, _ = outcome.model.judge(segments, features)
    intervals = Intervals.load(outcome.output / "model")
    scores = np.abs(gold - predicted) / intervals.difficulty.predict(features.to_numpy(), predicted)
    np.testing.assert_allclose(intervals.scores, np.sort(scores), rtol=1e-12)
    for override, message in (
        ("intervals={method: split, calibration: train}", "is learned from"),
        ("intervals={method: split, calibration: dev}", "unknown split 'dev'"),
        ("intervals={calibration: test}", "`calibration` goes with"),
        ("intervals={methd: split}", "did you mean 'method'"),
        ("intervals={method: split, share: 0.9}", "intervals.share: .* 0.5"),
    ):
        refuses(message, trained, override)
