"""Buckets: how segments are parted, corrected tests inside, and whether differences depend on the bucket."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from qe.evaluation.evaluate import evaluate_in_buckets
from qe.statistics import Mae, ResamplingSettings
from qe.statistics.buckets import BucketReport, Buckets, bands, by_name, hotelling_p
from qe.statistics.comparisons import Scored
from qe.statistics.draws import Levels
from qe.statistics.settings import Test

Floats = np.ndarray


def columns(n: int, seed: int, gap: Floats | float = 0.0) -> tuple[Floats, dict[str, Floats]]:
    """Gold labels; a is worse than b by about `gap` in absolute error."""
    rng = np.random.default_rng(seed)
    errors = rng.uniform(1, 2, (2, n))
    gold = rng.normal(size=n)
    return gold, {"a": gold + errors[0] + gap, "b": gold + errors[1]}


def by_mae(
    gold: Floats,
    sides: dict[str, Floats],
    *kinds: Buckets,
    groups: list[int] | None = None,
    test: Test = "ar",
    samples: int | None = 999,
) -> BucketReport:
    levels = Levels.from_groups(groups, len(gold))
    scored = Scored.from_predictions(gold, sides, {"mae": Mae()})
    settings = ResamplingSettings(test=test, samples=0, seed=0)
    return evaluate_in_buckets(scored, [("a", "b")], kinds, levels, settings, samples)


def test_bands_hold_equal_shares_and_never_part_equal_values() -> None:
    values = np.array([1.0] * 30 + [2.0] * 5 + list(range(3, 68)))
    outcome = bands("length", "words", values, 4)
    sizes = [len(rows) for _, rows in outcome.items()]
    assert sizes == [30, 20, 25, 25]  # the first holds all ones, and what is above it begins afresh
    assert outcome.labels == ("1", "[2, 17]", "[18, 42]", "[43, 67]")
    for label, rows in outcome.items():
        assert {outcome.label(row) for row in rows} == {label}
    assert bands("x", "", np.array([0.0] * 90 + [1.0] * 10), 4).labels == ("0", "1")
    assert bands("x", "", np.array([1.0, 1.00001, 1.00002, 1.00003]), 2).labels == (
        "[1, 1.00001]",
        "[1.00002, 1.00003]",
    )


@pytest.mark.slow
def test_all_buckets_of_all_kinds_are_one_family() -> None:
    gold, sides = columns(200, 1, 0.05)
    kinds = bands("length", "", np.arange(200.0)), by_name("half", "", ["x", "y"] * 100)
    outcome = by_mae(gold, sides, *kinds)
    assert outcome.family["comparisons"] == {"mae": 6}
    p = [one.result.p for one in outcome.differences]
    expected = multipletests(p, method="holm")[1]
    assert [one.p_corrected for one in outcome.differences] == pytest.approx(expected)
    assert [one.bucket[:2] for one in outcome.differences][-2:] == [("half", "x"), ("half", "y")]
    chance = [one.p for one in outcome.dependences]
    assert [one.p_corrected for one in outcome.dependences] == pytest.approx(
        multipletests(chance, method="holm")[1]
    )


@pytest.mark.slow
def test_no_difference_is_found_in_equal_systems_whatever_the_number_of_buckets() -> None:
    """Family-wise: any of 12 buckets, in 200 simulations; .05 and three standard errors is .096."""
    any_found = 0
    for seed in range(200):
        gold, sides = columns(120, seed)
        kinds = bands("length", "", np.arange(120.0), 8), bands("other", "", np.arange(120.0) % 7, 4)
        outcome = by_mae(gold, sides, *kinds, samples=None)
        any_found += any(one.p_corrected <= 0.05 for one in outcome.differences)
    assert any_found / 200 < 0.096


def test_the_differences_are_those_of_the_segments_inside() -> None:
    gold, sides = columns(90, 3, np.where(np.arange(90) < 45, 0.0, 1.0))
    outcome = by_mae(gold, sides, bands("half", "", np.arange(90.0), 2))
    errors = [np.abs(sides[name] - gold) for name in ("a", "b")]
    for one, rows in zip(outcome.differences, (slice(0, 45), slice(45, 90)), strict=True):
        assert one.scores == pytest.approx([side[rows].mean() for side in errors])
        assert one.result.difference == pytest.approx(one.scores[0] - one.scores[1])
        assert one.ci[0] < one.result.difference < one.ci[1] and one.bucket.segments == 45
    assert outcome.differences[0].p_corrected > 0.05 >= outcome.differences[1].p_corrected
    assert outcome.dependences[0].p < 1e-6


def test_dependence_on_the_bucket_is_welchs_analysis_of_variance() -> None:
    gold, sides = columns(100, 5, 0.2 * (np.arange(100) % 3))
    names = [str(i % 3) for i in range(100)]
    outcome = by_mae(gold, sides, by_name("third", "", names))
    gaps = np.abs(sides["a"] - gold) - np.abs(sides["b"] - gold)
    parts = [gaps[np.array(names) == name] for name in "012"]
    assert outcome.dependences[0].p == pytest.approx(anova_oneway(parts, use_var="unequal").pvalue)


def test_units_in_several_buckets_give_hotellings_test() -> None:
    """Every group has as many segments in each bucket: scipy's paired t test, squared, for two buckets."""
    from scipy.stats import ttest_rel

    gold, sides = columns(80, 6, 0.3 * (np.arange(80) % 2))
    names, groups = [str(i % 2) for i in range(80)], [i // 4 for i in range(80)]
    outcome = by_mae(gold, sides, by_name("parity", "", names), groups=groups)
    gaps = (np.abs(sides["a"] - gold) - np.abs(sides["b"] - gold)).reshape(20, 2, 2).mean(axis=1)
    assert outcome.dependences[0].p == pytest.approx(ttest_rel(gaps[:, 0], gaps[:, 1]).pvalue)
    assert outcome.differences[0].result.exchange == "group"


def test_hotelling_of_three_equals_the_published_formula() -> None:
    """T2 = n d' S^-1 d of the contrasts, F = T2 (n - k + 1) / ((n - 1)(k - 1)) (Rencher 2002, 6.9.1)."""
    from scipy.stats import f

    data = np.random.default_rng(2).normal(size=(25, 3))
    data += [0, 0.2, 0.5]
    contrasts = np.column_stack([data[:, 0] - data[:, 2], data[:, 1] - data[:, 2]])
    d, s = contrasts.mean(axis=0), np.cov(contrasts, rowvar=False)
    squared = 25 * d @ np.linalg.inv(s) @ d
    expected = f.sf(squared * 23 / (24 * 2), 2, 23)
    assert hotelling_p(data.mean(axis=0), np.cov(data, rowvar=False) / 25, 25) == pytest.approx(expected)
    assert np.isnan(hotelling_p(np.zeros(3), np.eye(3), 2))


@pytest.mark.slow
def test_dependence_holds_its_level_where_buckets_differ_in_noise() -> None:
    """A gain that is the same everywhere, noise that is not: 600 simulations, .05 and three errors."""
    rejected = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=90) * np.repeat([0.2, 1.0, 3.0], 30)
        gold = np.zeros(90)
        sides = {"a": 20 + noise + 0.5, "b": np.full(90, 20.0)}
        outcome = by_mae(gold, sides, bands("third", "", np.arange(90.0), 3), samples=99)
        rejected += outcome.dependences[0].p <= 0.05
    assert abs(rejected / 600 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 600)


def test_few_segments_cannot_be_decided_and_copies_dilute_nothing() -> None:
    gold, sides = columns(64, 7, 0.5)
    sides["a"][:20] = sides["b"][:20]
    names = ["same"] * 20 + ["few"] * 3 + ["rest"] * 41
    outcome = by_mae(gold, sides, by_name("part", "", names))
    same, few, rest = outcome.differences
    assert same.result.p == 1 and few.result.undecided and np.isnan(few.p_corrected)
    assert outcome.family["comparisons"] == {"mae": 2} and rest.p_corrected <= 0.05
    assert any("cannot be decided for a in part few : b in part few (MAE)" in note for note in outcome.notes)
    assert np.isnan(outcome.dependences[0].p)  # one bucket has no spread
