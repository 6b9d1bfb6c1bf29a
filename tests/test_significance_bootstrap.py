"""Bootstrap tests and intervals against scipy, closed forms and MultEval's repeated runs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from features.core.errors import InputError
from qe.metrics.spearman import Spearman
from qe.significance._sums import bootstrap_counts, bootstrap_sums
from qe.significance.bootstrap import METHODS, bootstrap_rescored, bootstrap_scores, bootstrap_test
from qe.significance.instability import instability
from qe.significance.intervals import bca_interval, jackknife_rescored, jackknife_scores, percentile_interval

Floats = NDArray[np.float64]


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def scored(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


def test_distribution_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(3, 2, 300)
    scores = bootstrap_scores(scored(values), mean, samples=5000, seed=1)[0]
    error = values.std() / np.sqrt(300)
    assert scores.mean() == pytest.approx(values.mean(), abs=5 * error / np.sqrt(5000))
    assert scores.std() == pytest.approx(error, rel=0.05)


def test_systems_and_metrics_share_draws_and_blocks_change_no_digit() -> None:
    rng = np.random.default_rng(1)
    statistics = rng.normal(size=(90, 5))
    whole = bootstrap_sums(statistics, 400, 7)
    np.testing.assert_array_equal(whole, bootstrap_sums(statistics, 400, 7, block=13, threads=2))
    np.testing.assert_array_equal(whole[:, :2], bootstrap_sums(statistics[:, :2], 400, 7))
    np.testing.assert_allclose(whole[90:130], bootstrap_counts(90, 7, 90, 130) @ statistics, atol=1e-12)
    runs = np.stack([scored(statistics[:, 0])] * 2)
    first, second = bootstrap_scores(runs, mean, samples=50)
    np.testing.assert_array_equal(first, second)


def test_counts_are_multinomial() -> None:
    counts = bootstrap_counts(6, 3, 0, 6000)
    assert (counts.sum(axis=1) == 6).all()
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4
    assert counts.var(axis=0) == pytest.approx(np.full(6, 5 / 6), rel=0.08)


def test_rescoring_is_the_additive_path_for_an_additive_metric() -> None:
    values = np.random.default_rng(2).normal(size=70)
    additive = bootstrap_scores(scored(values), mean, samples=200, seed=5)[0]
    rescored = bootstrap_rescored(lambda c: c @ values / c.sum(axis=1), 70, samples=200, seed=5)
    np.testing.assert_allclose(rescored, additive, atol=1e-12)
    ranked = [
        bootstrap_rescored(lambda c: Spearman().resample(values, values**3, c), 70, samples=50, block_bytes=b)
        for b in (1, 1 << 26)
    ]
    np.testing.assert_array_equal(ranked[0], ranked[1])


def test_intervals_equal_scipy() -> None:
    rng = np.random.default_rng(3)
    values = rng.exponential(size=120)
    scores = bootstrap_scores(scored(values), mean, samples=20_000, seed=2)[0]
    jackknife = jackknife_scores(scored(values), mean)
    for method, ours in [
        ("percentile", percentile_interval(scores)),
        ("BCa", bca_interval(scores, float(values.mean()), jackknife)),
    ]:
        oracle = stats.bootstrap(  # type: ignore[call-overload]
            (values,), np.mean, n_resamples=20_000, method=method, rng=rng
        )
        low, high = oracle.confidence_interval
        assert ours == pytest.approx((low, high), abs=0.01)


def test_bca_of_a_ranked_metric_equals_scipy() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)

    def rescore(counts: NDArray[np.int32]) -> Floats:
        return Spearman().resample(x, y, counts)

    scores = bootstrap_rescored(rescore, 60, samples=6000)
    ours = bca_interval(scores, Spearman().score(x, y), jackknife_rescored(rescore, 60))
    oracle = stats.bootstrap(  # type: ignore[call-overload]
        (x, y), lambda a, b: stats.spearmanr(a, b)[0],
        paired=True, vectorized=False, n_resamples=2000, method="BCa", rng=rng,
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx(tuple(oracle), abs=0.03)


def test_undefined_scores_make_undefined_intervals() -> None:
    scores = np.array([1.0, np.nan, 2.0])
    assert np.isnan(percentile_interval(scores)).all()
    assert np.isnan(bca_interval(scores, 1.0, np.array([1.0, 2.0]))).all()
    assert percentile_interval(np.full(5, 2.0)) == (2.0, 2.0)
    assert bca_interval(np.full(5, 2.0), 2.0, np.full(4, 2.0)) == (2.0, 2.0)


@pytest.mark.parametrize("method", METHODS)
def test_identical_systems_have_p_one(method: str) -> None:
    scores = np.random.default_rng(5).normal(size=500)
    result = bootstrap_test(scores, scores.copy(), 0.0, method=method)  # type: ignore[arg-type]
    assert result.p == 1.0 and result.difference == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_clear_differences_reach_the_smallest_p(method: str) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(5, 0.1, 999), rng.normal(0, 0.1, 999)
    assert bootstrap_test(a, b, 5.0, method=method).p == pytest.approx(1 / 1000)  # type: ignore[arg-type]
    assert bootstrap_test(b, a, -5.0, method=method).p == pytest.approx(1 / 1000)  # type: ignore[arg-type]


def test_three_rules_written_out() -> None:
    """d_b = 1 .. 10 and an observed difference of 4: each count by hand."""
    differences, nothing = np.arange(1.0, 11.0), np.zeros(10)
    centred = bootstrap_test(differences, nothing, 4.0)
    assert centred.p == (3 + 1) / 11  # |d_b - 4| >= 4: 8, 9, 10
    below = bootstrap_test(differences - 3, nothing, 4.0, method="win-ratio")
    assert below.p == (3 + 1) / 11 and below.tail == "greater"  # d_b <= 0: -2, -1, 0
    shifted = bootstrap_test(differences, nothing, 4.0, method="shifted")
    assert shifted.p == (1 + 1) / 11  # |d_b| - 5.5 >= 4: 10
    greater = bootstrap_test(differences, nothing, 4.0, tail="greater")
    assert greater.p == (3 + 1) / 11  # d_b - 4 >= 4: 8, 9, 10
    less = bootstrap_test(differences, nothing, 4.0, tail="less")
    assert less.p == (8 + 1) / 11  # d_b - 4 <= 4: 1 .. 8


def test_centred_bootstrap_agrees_with_the_t_test() -> None:
    rng = np.random.default_rng(7)
    a = rng.normal(0, 1, 400)
    b = a + rng.normal(0.09, 1, 400)
    scores_a, scores_b = bootstrap_scores(np.stack([scored(a), scored(b)]), mean, samples=20_000)
    ours = bootstrap_test(scores_a, scores_b, float(a.mean() - b.mean())).p
    assert ours == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.01)


def test_unknown_method_and_tail() -> None:
    scores = np.arange(5.0)
    with pytest.raises(InputError, match="known: centred, win-ratio, shifted"):
        bootstrap_test(scores, scores, 0.0, method="koehn")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="shifted bootstrap is two-sided"):
        bootstrap_test(scores, scores, 1.0, method="shifted", tail="less")


def test_instability_follows_section_4_1() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(4, 150)) + np.array([0.0, 0.3, 0.1, 0.2])[:, None]
    found = instability(scored(values), mean, dev_scores=np.array([1.0, 2.0, 4.0, 5.0]), samples=4000)
    scores = values.mean(axis=1)
    assert found.runs == pytest.approx(tuple(scores)) and found.mean == pytest.approx(scores.mean())
    assert found.pooled == pytest.approx(values.mean())
    assert found.s_test == pytest.approx(stats.tstd(scores))
    assert found.s_dev == pytest.approx(np.sqrt(10 / 3))
    assert found.s_sel == pytest.approx(np.mean(values.std(axis=1)) / np.sqrt(150), rel=0.03)
    assert found.median_run == int(np.argsort(scores)[1])
    one = instability(scored(values[0]), mean, samples=100)
    assert np.isnan(one.s_test) and np.isnan(one.s_dev) and one.median_run == 0
