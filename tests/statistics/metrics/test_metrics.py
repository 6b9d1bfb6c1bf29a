"""QE metrics against closed forms, scipy, the paper's definition written out, and their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, roc_auc_score

from qe.statistics import Accuracy, BinaryAccuracy, Kendall, Mae, Pearson, Rmse, Spearman
from qe.statistics.metric import METRICS, AdditiveMetric, Metric, RankedMetric
from qe.statistics.metrics.ranking import DeltaAvg, delta_avg_by_n

Floats = NDArray[np.float64]
grades = st.lists(st.sampled_from([1.0, 1.5, 2.0, 2.7, 3.3, 4.0, 5.0]), min_size=4, max_size=40)


def definition(gold: Floats, predicted: Floats) -> Floats:
    """Equation 14 as written, for each n; predictions without ties."""
    ranked = gold[np.argsort(-predicted)]
    total = len(gold)
    return np.array(
        [
            np.mean([ranked[: k * (total // n)].mean() for k in range(1, n)]) - gold.mean()
            for n in range(2, total // 2 + 1)
        ]
    )


def all_metrics(two_classes: bool = False) -> list[Metric]:
    """The metrics of numbers, or those of two classes."""
    made = (METRICS.get(name)() for name in METRICS.names)
    return [metric for metric in made if (metric.kind == "classes") == two_classes]


@pytest.mark.parametrize("name", METRICS.names)
def test_every_file_is_a_metric(name: str) -> None:
    """One that says which way is better, and scores predictions that equal the labels as no others can."""
    metric = METRICS.get(name)()
    assert isinstance(metric, Metric) and METRICS.get(name).__doc__
    gold = np.repeat([0.0, 1.0], 4) if metric.kind == "classes" else np.arange(1.0, 9.0)
    best, worse = metric.score(gold, gold), metric.score(gold, gold[::-1])
    assert best > worse if metric.higher_is_better else best < worse


def test_accuracy_is_that_of_whole_labels() -> None:
    """Halves are rounded up, whichever way of the labels is good; scikit-learn counts the rest."""
    gold, predicted = np.array([1.5, 2.49, 3.0, 4.5, 5.0]), np.array([2.0, 2.5, 2.6, 4.0, 5.4])
    assert Accuracy().score(gold, predicted) == Accuracy().score(-gold, -predicted) == 60.0
    rng = np.random.default_rng(0)
    classes, answers = rng.integers(1, 6, 200), rng.integers(1, 6, 200)
    expected = 100 * accuracy_score(classes, answers)
    assert Accuracy().score(classes.astype(float), answers + 0.3) == pytest.approx(expected)


def test_binary_accuracy_splits_between_three_and_four() -> None:
    """As scikit-learn counts, of {1, 2, 3} and {4, 5}; labels between whole ones go to the nearer, 3.5 up."""
    rng = np.random.default_rng(1)
    gold, predicted = rng.integers(1, 6, 300), rng.integers(1, 6, 300)
    expected = 100 * accuracy_score(np.isin(gold, (4, 5)), np.isin(predicted, (4, 5)))
    assert BinaryAccuracy().score(gold.astype(float), predicted.astype(float)) == pytest.approx(expected)
    edge, answers = np.array([3.5, 3.5, 3.4, 3.4]), np.array([7.0, 0.0, 7.0, 0.0])
    assert BinaryAccuracy().score(edge, answers) == 50.0
    assert BinaryAccuracy().score(edge[[0, 3]], answers[[0, 3]]) == 100.0
    assert np.isnan(BinaryAccuracy().score(edge[:0], answers[:0]))


@pytest.mark.parametrize("size", [4, 5, 6, 7, 11, 50, 97, 422])
def test_delta_avg_is_the_published_definition(size: int) -> None:
    rng = np.random.default_rng(size)
    gold, predicted = rng.normal(size=size), rng.permutation(size).astype(float)
    by_n = definition(gold, predicted)
    np.testing.assert_allclose(delta_avg_by_n(gold, predicted), by_n, atol=1e-13)
    assert DeltaAvg().score(gold, predicted) == pytest.approx(by_n.mean(), abs=1e-13)


def test_delta_avg_of_two_levels_separated() -> None:
    gold = np.repeat([4.0, 2.0], 500)
    assert round(DeltaAvg().score(gold, gold), 4) == 0.7709  # SYSTEMS.md, from the official scorer


def test_delta_avg_needs_four_segments() -> None:
    assert np.isnan(DeltaAvg().score(np.arange(3.0), np.arange(3.0)))
    assert len(delta_avg_by_n(np.arange(3.0), np.arange(3.0))) == 0


@pytest.mark.slow
def test_delta_avg_counts_ties_with_their_expected_value() -> None:
    rng = np.random.default_rng(1)
    gold, predicted = rng.normal(size=12), rng.integers(0, 4, 12).astype(float)
    broken = [definition(gold, predicted + 1e-6 * rng.random(12)).mean() for _ in range(20_000)]
    expected = DeltaAvg().score(gold, predicted)
    assert abs(np.mean(broken) - expected) < 4 * np.std(broken) / np.sqrt(len(broken))
    assert delta_avg_by_n(gold, predicted).mean() == pytest.approx(expected, abs=1e-12)
    assert DeltaAvg().score(gold, np.full(12, 3.1)) == 0.0


@pytest.mark.slow
@settings(max_examples=60)
@given(grades, st.integers(0, 2**31))
def test_correlations_equal_scipy(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold = np.array(values)
    predicted = rng.integers(0, 5, len(gold)) / 3.0
    if len(set(values)) == 1 or len(set(predicted)) == 1:
        assert all(np.isnan(m.score(gold, predicted)) for m in (Spearman(), Pearson(), Kendall()))
        return
    assert Spearman().score(gold, predicted) == pytest.approx(stats.spearmanr(gold, predicted)[0], abs=1e-12)
    assert Pearson().score(gold, predicted) == pytest.approx(stats.pearsonr(gold, predicted)[0], abs=1e-12)
    assert Kendall().score(gold, predicted) == pytest.approx(stats.kendalltau(gold, predicted)[0], abs=1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(grades, st.integers(0, 2**31))
def test_resampling_by_counts_equals_scoring_the_repeated_rows(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold = np.array(values)
    predicted = rng.integers(0, 6, len(gold)).astype(float)
    counts = rng.integers(0, 3, (5, len(gold))).astype(np.int32)
    for metric in all_metrics():
        repeated = [metric.score(np.repeat(gold, c), np.repeat(predicted, c)) for c in counts if c.sum() > 1]
        counts_used = counts[counts.sum(axis=1) > 1]
        if isinstance(metric, RankedMetric):
            resampled = metric.resample(gold, predicted, counts_used)
        else:
            assert isinstance(metric, AdditiveMetric)
            resampled = metric.aggregate(counts_used @ metric.statistics(gold, predicted))
        np.testing.assert_allclose(resampled, repeated, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=40)
@given(grades, st.integers(0, 2**31), st.sampled_from([3, 12, 1000]))
def test_exchanges_are_scored_as_predictions(values: list[float], seed: int, kinds: int) -> None:
    """The fast kernels against `score` on predictions that were swapped by hand; ties within and across."""
    rng = np.random.default_rng(seed)
    gold = np.array(values)
    own, other = (stats.rankdata(rng.integers(0, kinds, len(gold))) for _ in range(2))
    heads = rng.random((len(gold), 6)) < 0.5
    for metric in all_metrics():
        if isinstance(metric, RankedMetric):
            expected = [
                metric.score(gold, np.where(moved, other, own))
                - metric.score(gold, np.where(moved, own, other))
                for moved in heads.T
            ]
            outcome = metric.exchanged(gold, own, other, heads)
            np.testing.assert_allclose(outcome, expected, atol=1e-12)
            np.testing.assert_allclose(
                RankedMetric.exchanged(metric, gold, own, other, heads), expected, atol=1e-12
            )


@pytest.mark.slow
@settings(max_examples=40)
@given(grades, st.integers(0, 2**31))
def test_laws(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = np.array(values), rng.integers(1, 6, len(values)).astype(float)
    shuffled = rng.permutation(len(gold))
    for metric in all_metrics():
        np.testing.assert_allclose(
            metric.score(gold[shuffled], predicted[shuffled]), metric.score(gold, predicted), atol=1e-12
        )
        if metric.higher_is_better and isinstance(metric, RankedMetric):
            # Only the order of predictions counts; the reversed order is the opposite for correlations.
            np.testing.assert_allclose(
                metric.score(gold, np.exp(predicted)), metric.score(gold, predicted), atol=1e-12
            )
    np.testing.assert_allclose(
        Spearman().score(gold, -predicted), -Spearman().score(gold, predicted), atol=1e-12
    )
    assert DeltaAvg().score(gold, gold) >= DeltaAvg().score(gold, predicted) - 1e-12
    assert Rmse().score(gold, predicted) >= Mae().score(gold, predicted) - 1e-12


def test_pearson_of_tiny_and_shifted_values() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(size=50)
    expected = stats.pearsonr(x, y)[0]
    assert Pearson().score(1e-200 * x, y + 1e9) == pytest.approx(expected, abs=1e-6)
    assert np.isnan(Pearson().score(x, np.full(50, 3.1)))
    assert np.isnan(Pearson().score(x[:1], y[:1]))


def test_delta_avg_of_equally_good_predictions_grows_with_the_size_of_the_set() -> None:
    """So that it compares systems on one set, and no sets with each other (docs/significance.md)."""
    rng = np.random.default_rng(1)

    def mean(size: int, sets: int) -> float:
        gold = rng.normal(size=(sets, size))
        pairs = zip(gold, gold + rng.normal(size=gold.shape), strict=True)
        return float(np.mean([DeltaAvg().score(*pair) for pair in pairs]))

    small, large = mean(30, 1000), mean(1000, 100)
    assert small == pytest.approx(0.628, abs=0.02) and large == pytest.approx(0.70, abs=0.01)


classes = st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=40)


@pytest.mark.slow
@settings(max_examples=60)
@given(classes, st.integers(0, 2**31), st.booleans())
def test_metrics_of_two_classes_equal_scikit_learn(values: list[float], seed: int, upwards: bool) -> None:
    """Whichever class is the good one; the worse class is what F1 looks for."""
    rng = np.random.default_rng(seed)
    gold, predicted = np.array(values), rng.integers(0, 11, len(values)) / 10.0
    sign = 1.0 if upwards else -1.0
    mcc, f1, auc = (METRICS.get(m)().score(sign * gold, sign * predicted) for m in ("mcc", "f1", "auc"))
    called = predicted >= 0.5 if upwards else predicted > 0.5
    bad = 0 if upwards else 1
    if len(set(values)) == 1:
        assert np.isnan(mcc) and np.isnan(auc)
    else:
        assert mcc == pytest.approx(matthews_corrcoef(gold, called), abs=1e-12)
        assert auc == pytest.approx(roc_auc_score(gold, predicted), abs=1e-12)
    if bad in values:
        assert f1 == pytest.approx(f1_score(gold, called, pos_label=bad, zero_division=0.0), abs=1e-12)


@settings(max_examples=40)
@given(classes, st.integers(0, 2**31), st.booleans())
def test_two_classes_are_resampled_by_counts(values: list[float], seed: int, upwards: bool) -> None:
    rng = np.random.default_rng(seed)
    sign = 1.0 if upwards else -1.0
    gold, predicted = sign * np.array(values), sign * rng.integers(0, 6, len(values)) / 5.0
    counts = rng.integers(0, 3, (5, len(values))).astype(np.int32)
    both = [c for c in counts if len(set(np.repeat(gold, c))) == 2]
    for metric in all_metrics(two_classes=True) if both else []:
        repeated = [metric.score(np.repeat(gold, c), np.repeat(predicted, c)) for c in both]
        if isinstance(metric, RankedMetric):
            resampled = metric.resample(gold, predicted, np.array(both))
        else:
            assert isinstance(metric, AdditiveMetric)
            resampled = metric.aggregate(np.array(both) @ metric.statistics(gold, predicted))
        np.testing.assert_allclose(resampled, repeated, atol=1e-9)


def test_matthews_correlation_of_one_class_is_undefined_whatever_is_predicted() -> None:
    """Labels of one class say nothing of a classifier; predictions of one class are worth 0."""
    both, one = np.array([0.0, 1.0, 1.0, 0.0]), np.ones(4)
    assert np.isnan(METRICS.get("mcc")().score(one, one))
    assert np.isnan(METRICS.get("mcc")().score(one, both))
    assert METRICS.get("mcc")().score(both, one) == 0.0


def test_systems_are_exchanged_on_a_scale_from_median_to_percentiles() -> None:
    """Median 0, and 1 from the 10th to the 90th percentile, wherever the predictions lie."""
    predicted = np.arange(101.0) + 1000
    scaled = METRICS.get("pearson")().on_common_scale(predicted)
    assert scaled[50] == 0 and scaled[90] - scaled[10] == pytest.approx(1)
