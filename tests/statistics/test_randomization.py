"""Approximate randomization against exact enumeration, scipy and MultEval's published shuffles."""

import gzip
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from qe.statistics import DeltaAvg, Spearman
from qe.statistics.draws import coin_rows, coin_sums, part_sums
from qe.statistics.resampling import randomization_test, randomization_test_rescored, randomization_tests
from qe.statistics.result import Measure
from qe.statistics.settings import EXCHANGES, Exchange, Tail
from qe.systems import Bleu, Length, Texts
from tests.factories import Find
from tests.statistics.test_bootstrap import mean, scored

Floats = NDArray[np.float64]
Runs = dict[str, Floats]


@pytest.fixture(scope="module")
def multeval(shared_data: Find) -> Runs:
    """(3, 2489, k) statistics of BLEU and length, side by side, of both systems."""
    folder = shared_data("golden/multeval")

    def lines(name: str) -> list[str]:
        return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode().rstrip("\n").split("\n")

    references = [Texts.from_lines(lines("refs.test2010.lc.tok.en.0"))]
    return {
        system: np.stack(
            [
                np.hstack([metric.statistics(texts, references) for metric in (Bleu(), Length())])
                for run in range(3)
                for texts in [Texts.from_lines(lines(f"hyps.lc.tok.en.{system}.opt{run}"))]
            ]
        )
        for system in ("baseline", "sys1")
    }


MEASURES = {
    "bleu": Measure(slice(0, 10), Bleu().aggregate),
    "length": Measure(slice(10, 12), Length().aggregate),
}
SAMPLES = 100_000


def near(p: float, expected: float, samples: int = SAMPLES, theirs: int = 400_000) -> bool:
    """Within 4 standard errors of both Monte-Carlo estimates."""
    error = np.sqrt(expected * (1 - expected) * (1 / samples + 1 / theirs))
    return bool(abs(p - expected) <= 4 * error + 1 / samples)


@pytest.mark.parametrize(
    ("exchange", "bleu", "length"), [("segment-run", 0.00023, 0.0967), ("segment", 0.0105, 0.284)]
)
def test_multeval_p_values(multeval: Runs, exchange: Exchange, bleu: float, length: float) -> None:
    results = randomization_tests(
        multeval["sys1"], multeval["baseline"], MEASURES, exchange=exchange, samples=SAMPLES, seed=1
    )
    assert near(results["bleu"].p, bleu) and near(results["length"].p, length)
    assert results["bleu"].difference == pytest.approx(18.81 - 18.53, abs=0.02)
    assert results["bleu"].exchange == exchange and not results["bleu"].exact


def test_multeval_any_half_of_the_hypotheses(multeval: Runs) -> None:
    results = randomization_tests(
        multeval["sys1"], multeval["baseline"], MEASURES, exchange="any", samples=3000, seed=1
    )
    assert near(results["length"].p, 0.048, 3000, 20_000) and results["bleu"].p <= 5 / 3001


def test_multeval_whole_runs_are_enumerated(multeval: Runs) -> None:
    results = randomization_tests(multeval["sys1"], multeval["baseline"], MEASURES, exchange="run")
    assert results["bleu"].exact and results["bleu"].samples == 20
    sums = np.concatenate([multeval["sys1"], multeval["baseline"]]).sum(axis=1)[:, :10]
    scores = [
        Bleu().aggregate(sums[list(own)].sum(axis=0))
        - Bleu().aggregate(np.delete(sums, own, axis=0).sum(axis=0))
        for own in combinations(range(6), 3)
    ]
    observed = scores[0]
    assert results["bleu"].p == np.mean(np.abs(scores) >= abs(observed) - 1e-9)


@pytest.mark.parametrize(("run", "expected"), [(0, 0.00066), (1, 0.94051), (2, 0.00318)])
def test_multeval_single_runs(multeval: Runs, run: int, expected: float) -> None:
    results = randomization_tests(
        multeval["sys1"][run], multeval["baseline"][run], MEASURES, samples=SAMPLES, seed=3
    )
    assert near(results["bleu"].p, expected) and results["bleu"].exchange == "segment"


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(0, 2**31), st.sampled_from(["two-sided", "greater", "less"]))
def test_exact_enumeration_is_all_exchanges(n: int, seed: int, tail: Tail) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, n)).astype(float)
    result = randomization_test(scored(a), scored(b), mean, samples=2**n, tail=tail)
    observed = a.mean() - b.mean()
    null = [np.mean(np.array(signs) * (a - b)) for signs in product([1, -1], repeat=n)]
    extreme = {
        "two-sided": np.abs(null) >= abs(observed) - 1e-9,
        "greater": null >= observed - 1e-9,
        "less": null <= observed + 1e-9,
    }[tail]
    differing = np.count_nonzero(a != b)  # the others change nothing
    assert result.exact and result.samples == 2**differing == 2**result.units
    assert result.p == pytest.approx(np.mean(extreme)) and result.error == 0
    if tail == "two-sided" and differing:
        assert result.min_p == 2 / 2**differing <= result.p


@pytest.mark.slow
def test_many_shuffles_approach_the_exact_p() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.5, 1, 14), rng.normal(0, 1, 14)
    exact = randomization_test(scored(a), scored(b), mean, samples=2**14)
    sampled = randomization_test(scored(a), scored(b), mean, samples=2**14 - 1)
    assert exact.exact and not sampled.exact
    assert abs(exact.p - sampled.p) < 4 * np.sqrt(exact.p / 2**14)
    oracle = stats.permutation_test(  # type: ignore[call-overload]
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=np.inf
    )
    assert exact.p == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("samples", [50, 5000])
def test_identical_systems_have_p_one(exchange: Exchange, samples: int) -> None:
    rng = np.random.default_rng(0)
    runs = scored(rng.random((3, 40)))
    result = randomization_test(runs, runs.copy(), mean, exchange=exchange, samples=samples)
    assert result.p == 1.0 and result.difference == 0.0
    assert randomization_test(runs[0], runs[0].copy(), mean).p == 1.0


def test_one_segment_cannot_be_significant() -> None:
    result = randomization_test(scored(np.array([3.0])), scored(np.array([1.0])), mean)
    assert result.p == 1.0 and result.exact and result.samples == 2


def test_coins_are_fair_and_sums_are_their_sums() -> None:
    rng = np.random.default_rng(6)
    differences = rng.normal(size=(133, 4))
    faces = coin_rows(133, 9, 0, 4000).T
    np.testing.assert_allclose(coin_sums(differences, 4000, 9), faces @ differences, atol=1e-12)
    np.testing.assert_array_equal(faces[90:130], coin_rows(133, 9, 90, 130).T)
    assert np.abs(faces.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(4000)
    pairs = np.corrcoef(faces.astype(float), rowvar=False)
    assert np.abs(pairs - np.eye(133)).max() < 6 / np.sqrt(4000)


def test_parts_hold_half_of_the_hypotheses_equally_often() -> None:
    pool = np.eye(6)[None].repeat(5, axis=0)
    drawn = part_sums(pool, 3, 4000, 1)
    assert (drawn.sum(axis=1) == 15).all()
    assert np.abs(drawn.mean(axis=0) - 2.5).max() < 5 * np.sqrt(5 * 0.25 / 4000)


def test_groups_move_together() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(["a", "b", "c", "d"], 25)
    a, b = rng.normal(size=(2, 100))
    by_group = randomization_test(scored(a), scored(b), mean, groups=groups)
    assert by_group.exact and by_group.samples == 16 and by_group.exchange == "group"
    summed = [scored(side).reshape(4, 25, 2).sum(axis=1) for side in (a, b)]
    assert by_group.p == randomization_test(summed[0], summed[1], mean).p


def test_ranked_metrics_are_rescored_exactly() -> None:
    """A linear metric through the rescoring path gives the additive path's p."""
    rng = np.random.default_rng(9)
    a, b = rng.normal(0.2, 1, 60), rng.normal(0, 1, 60)

    def exchanged(heads: NDArray[np.bool_]) -> Floats:
        return np.asarray(np.where(heads.T, b - a, a - b).mean(axis=1))

    additive = randomization_test(scored(a), scored(b), mean, samples=800, seed=3)
    differs = np.ones(60, bool)
    rescored = randomization_test_rescored(exchanged, differs, samples=800, seed=3)
    assert rescored.p == additive.p and rescored.difference == pytest.approx(additive.difference)
    gold, worse = np.arange(60.0), np.roll(np.arange(60.0), 20)
    result = randomization_test_rescored(
        lambda heads: DeltaAvg().exchanged(gold, gold, worse, heads), gold != worse, samples=500
    )
    assert result.p == pytest.approx(1 / 501) and result.difference > 0


def test_few_differing_segments_are_enumerated_for_rankings_too() -> None:
    rng = np.random.default_rng(12)
    gold, own = rng.normal(size=40), np.arange(40.0)
    other = own.copy()
    other[[3, 9, 20]] = own[[9, 20, 3]]
    outcome = randomization_test_rescored(
        lambda heads: Spearman().exchanged(gold, own, other, heads), own != other, samples=500
    )
    null = []
    for moved in product([False, True], repeat=3):
        one, two = own.copy(), other.copy()
        for segment, swap in zip([3, 9, 20], moved, strict=True):
            if swap:
                one[segment], two[segment] = two[segment], one[segment]
        null.append(stats.spearmanr(gold, one)[0] - stats.spearmanr(gold, two)[0])
    assert outcome.exact and outcome.samples == 8 and (outcome.units, outcome.min_p) == (3, 0.25)
    assert outcome.p == np.mean(np.abs(null) >= abs(null[0]) - 1e-12)


def test_sequential_p_values_are_valid_and_stop_early() -> None:
    """Besag and Clifford: p = h / L; under the null P(p <= t) <= t, and L is far below the cap."""
    rng = np.random.default_rng(13)
    listed = []
    for simulation in range(400):
        a, b = rng.normal(size=(2, 25))

        def exchanged(heads: NDArray[np.bool_], a: Floats = a, b: Floats = b) -> Floats:
            return np.asarray(np.where(heads.T, b - a, a - b).mean(axis=1))

        listed.append(
            randomization_test_rescored(
                exchanged, np.ones(25, bool), samples=2000, seed=simulation, enough=20
            )
        )
    p = np.array([result.p for result in listed])
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean([result.samples for result in listed]) < 300
    stopped = [result for result in listed if result.samples < 2000]
    assert all(result.p == 20 / result.samples for result in stopped)
    assert stopped[0].error == pytest.approx(stopped[0].p * np.sqrt((1 - stopped[0].p) / 20))


def test_different_numbers_of_runs_with_whole_runs() -> None:
    rng = np.random.default_rng(1)
    result = randomization_test(scored(rng.random((2, 9))), scored(rng.random((3, 9))), mean, exchange="run")
    assert result.exact and result.samples == 10 and 0 < result.p <= 1


@pytest.mark.parametrize(("runs", "ways", "mirrored"), [((2, 2), 6, 2), ((1, 2), 3, 1), ((2, 1), 3, 1)])
def test_the_smallest_p_of_exchanged_hypotheses(runs: tuple[int, int], ways: int, mirrored: int) -> None:
    """One of (h choose r) ways per segment is as it was; halves have a mirror image, unequal parts none."""
    a, b = (scored(1.0 + np.arange(run * 4).reshape(run, 4) + 100 * i) for i, run in enumerate(runs))
    result = randomization_test(a, b, mean, exchange="any")
    assert result.exact and result.samples == ways**4
    assert result.min_p == pytest.approx(mirrored / ways**4)


def test_undefined_differences_are_nan_not_significant() -> None:
    nothing = np.zeros((6, 2))
    assert np.isnan(randomization_test(nothing, nothing, lambda s: s[..., 0] * np.nan).p)
