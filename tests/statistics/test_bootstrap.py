"""Bootstrap tests and intervals against scipy, closed forms and MultEval's repeated runs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from qe.statistics.comparisons import Scored
from qe.statistics.draws import bootstrap_counts, bootstrap_sums
from qe.statistics.intervals import (
    bca_interval,
    jackknife_deviations,
    jackknife_interval,
    jackknife_rescored,
    jackknife_scores,
    percentile_interval,
)
from qe.statistics.metric import METRICS
from qe.statistics.metrics.ranking import Spearman
from qe.statistics.resampling import METHODS, bootstrap_rescored, bootstrap_scores, bootstrap_test
from qe.statistics.result import as_runs
from qe.systems.comparison import instability as instability_of
from qe.systems.comparison import spread
from qe.systems.results import Instability

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


def test_systems_and_metrics_share_draws() -> None:
    rng = np.random.default_rng(1)
    statistics = rng.normal(size=(90, 5))
    whole = bootstrap_sums(statistics, 400, 7)
    np.testing.assert_allclose(whole[:, :2], bootstrap_sums(statistics[:, :2], 400, 7), atol=1e-12)
    np.testing.assert_allclose(whole[90:130], bootstrap_counts(90, 7, 90, 130) @ statistics, atol=1e-12)
    runs = np.stack([scored(statistics[:, 0])] * 2)
    first, second = bootstrap_scores(runs, mean, samples=50)
    np.testing.assert_array_equal(first, second)


def test_counts_are_multinomial() -> None:
    counts = bootstrap_counts(6, 3, 0, 6000)
    assert (counts.sum(axis=1) == 6).all()
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4
    assert counts.var(axis=0) == pytest.approx(np.full(6, 5 / 6), rel=0.08)


def test_poisson_counts_topped_up_are_multinomial() -> None:
    """Counts of many rows come another way; marginals, covariances and empty rows are as they must be."""
    n, samples = 80, 40_000
    counts = bootstrap_counts(n, 5, 0, samples)
    assert (counts.sum(axis=1) == n).all() and counts.min() == 0
    observed = np.bincount(counts[:, ::7].ravel(), minlength=8)[:6]
    expected = stats.binom.pmf(np.arange(6), n, 1 / n) * counts[:, ::7].size
    assert np.abs(observed / expected - 1).max() < 0.12
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4
    covariance = np.cov(counts[:, :12], rowvar=False)
    target = np.diag(np.full(12, 1.0)) - 1 / n
    assert np.abs(covariance - target).max() < 6 * np.sqrt(2 / samples)
    empty = (counts == 0).sum(axis=1)
    lone, pair = (1 - 1 / n) ** n, (1 - 2 / n) ** n
    assert empty.mean() == pytest.approx(n * lone, rel=0.002)
    assert empty.var() == pytest.approx(n * lone + n * (n - 1) * pair - (n * lone) ** 2, rel=0.03)


def test_many_rows_have_counts_above_seven_and_too_many_poisson_draws() -> None:
    """2,003 rows: about one sample in 50 has a count above 7, one in 800 more Poisson draws than rows."""
    counts = bootstrap_counts(2003, 11, 0, 3000)
    assert counts.max() > 7 and counts.min() == 0 and (counts.sum(axis=1) == 2003).all()
    np.testing.assert_array_equal(counts[1500:1510], bootstrap_counts(2003, 11, 1500, 1510))


def test_rescoring_is_the_additive_path_for_an_additive_metric() -> None:
    values = np.random.default_rng(2).normal(size=70)
    additive = bootstrap_scores(scored(values), mean, samples=200, seed=5)[0]
    rescored = bootstrap_rescored(lambda c: c @ values / c.sum(axis=1), 70, samples=200, seed=5)
    np.testing.assert_allclose(rescored, additive, atol=1e-12)


@pytest.mark.slow
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


def test_bca_of_evenly_spread_scores_is_the_closed_form() -> None:
    """The ends are Phi(z / (1 - a z)), because quantile q of these scores is q.

    One of n jackknife scores that is unlike the others has acceleration a = -(n - 2) / (6 sqrt(n (n - 1))),
    whatever its scale.
    """
    scores = np.linspace(0.0, 1.0, 10_001)
    for n, scale in [(5, 1.0), (5, 40.0), (12, 0.01)]:
        jackknife = np.zeros(n)
        jackknife[-1] = scale
        acceleration = -(n - 2) / (6 * np.sqrt(n * (n - 1)))
        z = stats.norm.ppf([0.025, 0.975])
        expected = stats.norm.cdf(z / (1 - acceleration * z))
        assert bca_interval(scores, 0.5, jackknife) == pytest.approx(tuple(expected), abs=1e-9)
    assert bca_interval(scores, 0.5, np.ones(5)) == pytest.approx((0.025, 0.975), abs=1e-9)  # a is 0


@pytest.mark.slow
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


def test_jackknife_interval_of_a_mean_is_students() -> None:
    values = np.random.default_rng(9).exponential(size=25)
    left = jackknife_scores(scored(values), mean)
    ours = jackknife_interval(float(values.mean()), [left])
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert ours == pytest.approx((low, high))
    assert np.sum(jackknife_deviations(left) ** 2) == pytest.approx(stats.sem(values) ** 2)


def test_jackknife_intervals_on_other_scales() -> None:
    rng = np.random.default_rng(10)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    left = jackknife_rescored(lambda c: Spearman().resample(x, y, c), 40)
    by_hand = [stats.spearmanr(np.delete(x, i), np.delete(y, i))[0] for i in range(40)]
    np.testing.assert_allclose(left, by_hand, atol=1e-12)
    score = Spearman().score(x, y)
    moved = np.arctanh(left)
    error = np.sqrt(39 / 40 * ((moved - moved.mean()) ** 2).sum())
    reach = stats.t.isf(0.025, 39) * error
    expected = np.tanh([np.arctanh(score) - reach, np.arctanh(score) + reach])
    assert jackknife_interval(score, [left], link="fisher") == pytest.approx(tuple(expected))
    shares = jackknife_interval(50.0, [np.array([45.0, 55.0, 50.0])], link="arcsine")
    assert 0 <= shares[0] < 50 < shares[1] <= 100


def test_jackknife_of_groups_and_of_several_kinds_of_units() -> None:
    rng = np.random.default_rng(11)
    values, group = rng.normal(size=60), np.repeat(np.arange(6), 10)
    units = group.astype(np.int32)
    left = jackknife_rescored(lambda c: c @ values / c.sum(axis=1), 60, units)
    np.testing.assert_allclose(left, [values[group != g].mean() for g in range(6)])
    means = values.reshape(6, 10).mean(axis=1)
    low, high = stats.ttest_1samp(
        means, 0
    ).confidence_interval()  # groups of one size: their means' t interval
    assert jackknife_interval(float(values.mean()), [left]) == pytest.approx((low, high))
    wide = jackknife_interval(float(values.mean()), [left, left])
    assert wide[1] - wide[0] == pytest.approx(np.sqrt(2) * (high - low))
    many = jackknife_rescored(lambda c: c.sum(axis=1).astype(float), 2500)
    assert len(many) == 1000 and set(many) == {2497.0, 2498.0}  # blocks of two or three


def test_jackknife_edges() -> None:
    assert jackknife_interval(0.0, [np.zeros(5)], link="log") == (0.0, 0.0)
    assert jackknife_interval(1.0, [np.ones(5)], link="fisher") == (1.0, 1.0)
    low, high = jackknife_interval(0.99, [np.array([1.0, 0.98, 0.99])], link="fisher")  # no scale: identity
    assert low < 0.99 < high
    assert np.isnan(jackknife_interval(1.0, [np.array([1.0])])).all()
    assert np.isnan(jackknife_interval(1.0, [np.array([1.0, np.nan])])).all()
    assert np.isnan(jackknife_interval(np.nan, [np.array([1.0, 2.0])])).all()


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["delta_avg", "rmse", "spearman"])
def test_jackknife_intervals_cover_with_30_segments(metric: str) -> None:
    """Percentile and BCa intervals cover .90 to .92 there (studies/significance_calibration.py)."""
    rng = np.random.default_rng(12)
    kind, covered = METRICS.get(metric)(), []
    truth = {"rmse": 1.0, "spearman": 6 / np.pi * np.arcsin(np.sqrt(0.5) / 2)}
    if metric == "delta_avg":
        truth[metric] = np.mean(
            [kind.score(g, g + rng.normal(size=30)) for g in rng.normal(size=(20_000, 30))]
        )
    for _ in range(800):
        gold = rng.normal(size=30)
        predicted = gold + rng.normal(size=30)
        systems = Scored.from_predictions(gold, {"s": predicted}, {metric: kind})
        left = systems.leave_one_out("s", metric, None)
        low, high = jackknife_interval(kind.score(gold, predicted), [left], link=kind.interval_scale)
        covered.append(low <= truth[metric] <= high)
    assert 0.93 <= np.mean(covered) <= 0.97


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
    differ = bootstrap_test(differences, nothing, 4.0, units=3)
    assert differ.min_p == 2 / 2**3 and centred.reach is None  # each of three changes sides or stays


def test_centred_bootstrap_agrees_with_the_t_test() -> None:
    rng = np.random.default_rng(7)
    a = rng.normal(0, 1, 400)
    b = a + rng.normal(0.09, 1, 400)
    scores_a, scores_b = bootstrap_scores(np.stack([scored(a), scored(b)]), mean, samples=20_000)
    ours = bootstrap_test(scores_a, scores_b, float(a.mean() - b.mean())).p
    assert ours == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.01)


def test_instability_follows_section_4_1() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(4, 150)) + np.array([0.0, 0.3, 0.1, 0.2])[:, None]

    def instability(values: Floats, dev: Floats | None = None, samples: int = 100) -> Instability:
        drawn = bootstrap_scores(scored(values), mean, samples=samples)
        s_sel = float(np.mean([spread(run) for run in drawn]))
        return instability_of(as_runs(scored(values)), mean, s_sel, dev)

    outcome = instability(values, np.array([5.0, 2.0, 4.0, 1.0]), samples=4000)
    scores = values.mean(axis=1)
    assert outcome.runs == pytest.approx(tuple(scores)) and outcome.mean == pytest.approx(scores.mean())
    assert outcome.pooled == pytest.approx(values.mean())
    assert outcome.s_test == pytest.approx(stats.tstd(scores))
    assert outcome.s_dev == pytest.approx(np.sqrt(10 / 3))
    assert outcome.s_sel == pytest.approx(np.mean(values.std(axis=1)) / np.sqrt(150), rel=0.03)
    assert outcome.median_run == 1  # of the development set, the lower one of an even number
    by_test = instability(values)
    assert by_test.median_run == int(np.argsort(scores)[1])
    one = instability(values[0])
    assert np.isnan(one.s_test) and np.isnan(one.s_dev) and one.median_run == 0
