"""Corrections, Tukey HSD, clusters, correlations and power against published and closed-form values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from qe.statistics import Pearson, ResamplingSettings, TestResult, randomization_test
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import Levels
from qe.statistics.family import correct, experimentwise_error
from qe.statistics.intervals import heavy_tails, williams_test, zou_interval
from qe.statistics.metric import METRICS
from qe.statistics.ranks import clusters
from qe.statistics.resampling import bootstrap_scores, bootstrap_test, tukey_hsd, tukey_hsd_rescored
from qe.statistics.settings import CORRECTIONS
from tests.statistics.test_bootstrap import mean, scored

Floats = NDArray[np.float64]


def exchanged_correlations(
    gold: Floats,
    system: Floats,
    baseline: Floats,
    metric: str = "pearson",
    samples: int = 1000,
    seed: int = 0,
) -> TestResult:
    """The test of `qe evaluate`: exchanged predictions, a studentised difference of Pearson correlations."""
    scored = Scored.from_predictions(gold, {"a": system, "b": baseline}, {metric: METRICS.get(metric)()})
    settings = ResamplingSettings(samples=samples, seed=seed)
    return Comparisons(scored, Levels.from_groups(None, len(gold)), settings).test("a", "b")[metric]


def test_corrections_by_hand() -> None:
    p = [0.01, 0.04, 0.03, np.nan, 0.005]
    assert correct(p, "bonferroni")[:3] == pytest.approx([0.04, 0.16, 0.12])
    assert correct(p, "holm")[[0, 1, 2, 4]] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correct(p, "bh")[[0, 1, 2, 4]] == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert correct(p, "none")[:3] == pytest.approx(p[:3]) and np.isnan(correct(p, "holm")[3])


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_laws_of_corrections(p: list[float]) -> None:
    if p:
        np.testing.assert_allclose(correct(p, "bh"), stats.false_discovery_control(p), atol=1e-12)
    values = {method: correct(p, method) for method in CORRECTIONS}
    assert (values["none"] <= values["bh"] + 1e-12).all() and (values["bh"] <= values["holm"] + 1e-12).all()
    assert (values["holm"] <= values["bonferroni"] + 1e-12).all() and (values["bonferroni"] <= 1).all()


def test_experimentwise_error_of_the_paper() -> None:
    """Riezler and Maxwell 2005, section 4.4: 105 comparisons, and 5 at .015."""
    assert round(experimentwise_error(0.05, 105), 4) == 0.9954
    assert round(experimentwise_error(0.015, 5), 2) == 0.07


def test_tukey_of_two_systems_is_the_randomization_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.15, 1, 200), rng.normal(0, 1, 200)
    pair = tukey_hsd({"a": scored(a), "b": scored(b)}, mean, samples=10_000)["a", "b"]
    single = randomization_test(scored(a), scored(b), mean, samples=10_000)
    assert pair.difference == pytest.approx(single.difference)
    assert abs(pair.p - single.p) < 5 * np.sqrt(2 * single.p / 10_000)


def test_tukey_agrees_with_the_studentized_range_and_holds_all_pairs() -> None:
    rng = np.random.default_rng(1)
    segment = rng.normal(0, 3, 300)
    systems = {
        name: segment + rng.normal(shift, 1, 300) for name, shift in [("a", 0), ("b", 0.1), ("c", 0.5)]
    }
    pairs = tukey_hsd({name: scored(values) for name, values in systems.items()}, mean, samples=10_000)
    table = np.stack(list(systems.values()))
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    error = np.sqrt((residual**2).sum() / (2 * 299) / 300)  # two-way layout without replication
    for (a, b), result in pairs.items():
        q = abs(systems[a].mean() - systems[b].mean()) / error
        assert result.p == pytest.approx(stats.studentized_range.sf(q, 3, 2 * 299), abs=0.02)
    assert pairs["a", "c"].p < 0.001 < 0.1 < pairs["a", "b"].p


@pytest.mark.slow
def test_scheffe_agrees_with_the_f_distribution_and_is_the_wider_claim() -> None:
    """d^2 / (2 (m - 1) s^2 / n) against F(m - 1, (m - 1)(n - 1)); of two systems, both are randomization."""
    rng = np.random.default_rng(5)
    segment = rng.normal(0, 3, 300)
    shifts = {"a": 0, "b": 0.12, "c": 0.2, "d": 0.3}
    systems = {name: segment + rng.normal(shift, 1, 300) for name, shift in shifts.items()}
    statistics = {name: scored(values) for name, values in systems.items()}
    pairs = tukey_hsd(statistics, mean, samples=10_000, contrasts="all")
    narrow = tukey_hsd(statistics, mean, samples=10_000)
    table = np.stack(list(systems.values()))
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    variance = (residual**2).sum() / (3 * 299) / 300
    for (a, b), result in pairs.items():
        f = (systems[a].mean() - systems[b].mean()) ** 2 / (2 * 3 * variance)
        assert result.p == pytest.approx(stats.f.sf(f, 3, 3 * 299), abs=0.02)
        assert result.p >= narrow[a, b].p and result.test == "randomized Scheffe test"
    assert pairs["a", "d"].p < 0.05 < pairs["a", "b"].p
    two = {name: statistics[name] for name in ("a", "d")}
    assert tukey_hsd(two, mean, contrasts="all")["a", "d"].p == tukey_hsd(two, mean)["a", "d"].p


def test_tukey_rescored_is_the_additive_path_for_an_additive_metric() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 40))
    names = ("a", "b", "c")
    additive = tukey_hsd({n: scored(v) for n, v in zip(names, values, strict=True)}, mean, samples=300)
    rescored = tukey_hsd_rescored(lambda c: c @ values.ravel() / c.sum(axis=1), names, 40, samples=300)
    assert {pair: r.p for pair, r in additive.items()} == {pair: r.p for pair, r in rescored.items()}


def test_tukey_identical_systems_and_groups() -> None:
    rng = np.random.default_rng(3)
    same = scored(rng.normal(size=50))
    pairs = tukey_hsd({"a": same, "b": same.copy(), "c": same.copy()}, mean, samples=100)
    assert all(result.p == 1.0 for result in pairs.values())
    grouped = tukey_hsd({"a": same, "b": same + 1}, mean, samples=50, groups=np.arange(50) // 10)
    assert grouped["a", "b"].exchange == "group"


def test_clusters_cut_only_where_every_pair_differs() -> None:
    p = {("a", "b"): 0.2, ("a", "c"): 0.01, ("b", "c"): 0.2, ("a", "d"): 0.01, ("b", "d"): 0.01}
    assert clusters("abcd", {**p, ("d", "c"): 0.04}) == [["a", "b", "c"], ["d"]]
    assert clusters("abcd", {**p, ("d", "c"): float("nan")}) == [["a", "b", "c", "d"]]
    assert clusters(["a"], {}) == [["a"]]


@pytest.mark.slow
def test_williams_follows_its_formula_and_its_null_distribution() -> None:
    rng = np.random.default_rng(4)
    p_values = []
    for _ in range(4000):
        gold = rng.normal(size=60)
        a, b = gold + rng.normal(size=60), gold + rng.normal(size=60)
        r = np.corrcoef([gold, a, b])
        p_values.append(williams_test(r[0, 1], r[0, 2], r[1, 2], 60).p)
    assert 0.04 < np.mean(np.array(p_values) < 0.05) < 0.06
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_williams_edges() -> None:
    assert williams_test(0.5, 0.5, 1.0, 100).p == 1.0
    steiger = williams_test(0.5, 0.4, 0.1, 103)  # Steiger 1980, case A: t = .89 with 100 degrees of freedom
    assert stats.t.isf(steiger.p / 2, 100) == pytest.approx(0.89, abs=0.005)
    assert np.isnan(williams_test(0.5, 0.4, 0.2, 3).p) and np.isnan(williams_test(np.nan, 0.4, 0.2, 30).p)
    one, other = (
        williams_test(0.6, 0.4, 0.3, 80, tail="greater"),
        williams_test(0.6, 0.4, 0.3, 80, tail="less"),
    )
    assert one.p + other.p == pytest.approx(1)
    assert williams_test(0.6, 0.4, 0.3, 80).p == pytest.approx(2 * one.p)


def test_exchanged_correlations_agree_with_williams() -> None:
    rng = np.random.default_rng(5)
    gold = rng.normal(size=300)
    a, b = gold + rng.normal(size=300), 1000 * (gold + rng.normal(0, 1.25, size=300))
    r = np.corrcoef([gold, a, b])
    exact = williams_test(r[0, 1], r[0, 2], r[1, 2], 300)
    result = exchanged_correlations(gold, a, b, samples=5000)
    assert result.difference == pytest.approx(exact.difference)
    assert result.difference == pytest.approx(Pearson().score(gold, a) - Pearson().score(gold, b))
    assert result.p == pytest.approx(exact.p, abs=0.04)
    ranked = exchanged_correlations(gold, a, b, "spearman", samples=200)
    assert ranked.difference == pytest.approx(stats.spearmanr(gold, a)[0] - stats.spearmanr(gold, b)[0])
    assert exchanged_correlations(gold, a, a.copy(), samples=100).p == 1.0
    assert np.isnan(exchanged_correlations(gold, a, np.full(300, 2.0), samples=100).p)


@pytest.mark.slow
def test_zous_interval_covers_normal_data_and_agrees_with_williams() -> None:
    """His example 2 is the doctest. Coverage of the true difference 0 over 2,000 samples of 40 segments."""
    rng = np.random.default_rng(8)
    inside, agreed = [], []
    for _ in range(2000):
        gold = rng.normal(size=40)
        a, b = gold + rng.normal(size=(2, 40))
        r = np.corrcoef([gold, a, b])
        low, high = zou_interval(r[0, 1], r[0, 2], r[1, 2], 40)
        inside.append(low <= 0 <= high)
        agreed.append((low <= 0 <= high) == (williams_test(r[0, 1], r[0, 2], r[1, 2], 40).p > 0.05))
    assert 0.935 <= np.mean(inside) <= 0.965 and np.mean(agreed) > 0.98
    assert (
        np.isnan(zou_interval(0.5, 0.4, 0.2, 3)).all() and np.isfinite(zou_interval(0.5, 0.4, 0.2, 4)).all()
    )


def test_studentised_statistic_is_the_delta_method_over_influence_functions() -> None:
    """Against the variance of the jackknife's pseudo-values, for exchanges done by hand."""
    rng = np.random.default_rng(9)
    gold = rng.lognormal(size=500)
    own, other = gold * rng.lognormal(size=500), gold + rng.normal(size=500)
    metric = Pearson()
    own, other = metric.on_common_scale(own), metric.on_common_scale(other)
    heads = rng.random((500, 3)) < 0.5
    for each, moved in zip(metric.exchanged(gold, own, other, heads), heads.T, strict=True):
        a, b = np.where(moved, other, own), np.where(moved, own, other)
        difference = metric.score(gold, a) - metric.score(gold, b)
        x, y, z = (stats.zscore(side) for side in (gold, a, b))
        influence = [x * side - metric.score(gold, side) * (x**2 + side**2) / 2 for side in (y, z)]
        error = np.std(influence[0] - influence[1]) / np.sqrt(500)
        assert each == pytest.approx(difference / error)


@pytest.mark.slow
def test_heavy_tails_are_found_where_they_are() -> None:
    rng = np.random.default_rng(10)
    for n in (30, 422):
        normal = [heavy_tails(rng.normal(size=n)) > 0 for _ in range(1000)]
        skewed = [heavy_tails(rng.lognormal(size=n)) > 0 for _ in range(300)]
        assert np.mean(normal) < 0.02 and np.mean(skewed) > (0.5 if n == 30 else 0.95)
    assert heavy_tails(rng.uniform(1, 5, 400)) == heavy_tails(np.ones(5)) == heavy_tails(np.ones(0)) == 0


@pytest.mark.slow
def test_heavy_tails_break_williams_but_not_the_studentised_test() -> None:
    """Log-normal labels, predictions with independent log-normal factors: the case of issue 14 (.315)."""
    rng = np.random.default_rng(11)
    rejected = np.zeros(2)
    for seed in range(300):
        gold = rng.lognormal(size=30)
        a, b = gold * rng.lognormal(size=(2, 30))
        r = np.corrcoef([gold, a, b])
        tests = (
            williams_test(r[0, 1], r[0, 2], r[1, 2], 30),
            exchanged_correlations(gold, a, b, samples=199, seed=seed),
        )
        rejected += [test.p <= 0.05 for test in tests]
    williams, studentised = rejected / 300
    assert williams > 0.2 and studentised < 0.085


SIMULATIONS, SEGMENTS, SAMPLES = 800, 100, 399


@pytest.mark.slow
def test_defaults_hold_the_level_and_the_published_rules_do_not() -> None:
    """Type I error on simulated null hypotheses; the large version: studies/significance_calibration.py."""
    rng = np.random.default_rng(11)
    rejected = dict.fromkeys(("randomization", "centred", "win-ratio", "shifted"), 0)
    for simulation in range(SIMULATIONS):
        segment = rng.normal(size=SEGMENTS)
        a, b = (scored(segment + rng.normal(size=SEGMENTS)) for _ in range(2))
        exchanged = randomization_test(a, b, mean, samples=SAMPLES, seed=simulation)
        rejected["randomization"] += exchanged.p <= 0.05
        one, other = bootstrap_scores(np.stack([a, b]), mean, samples=SAMPLES, seed=simulation)
        for method in ("centred", "win-ratio", "shifted"):
            outcome = bootstrap_test(one, other, exchanged.difference, method=method)
            rejected[method] += outcome.p <= 0.05
    rates = {name: count / SIMULATIONS for name, count in rejected.items()}
    assert 0.03 <= rates["randomization"] <= 0.07
    assert 0.03 <= rates["centred"] <= 0.07
    assert rates["win-ratio"] > 0.08 and rates["shifted"] > 0.08
