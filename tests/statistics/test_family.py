"""Families: what a correction needs, what few units and few resamples cannot decide."""

from itertools import combinations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from qe.statistics.family import Key, Pair, Table
from qe.statistics.result import Permutations, Reach, Runs, TestResult, largest_p, monte_carlo_error
from qe.statistics.settings import ResamplingSettings

SETTINGS = ResamplingSettings()


def result(p: float, *, samples: int = 10_000, units: int = 100, exact: bool = False) -> TestResult:
    error = monte_carlo_error(p, samples, exact=exact)
    return TestResult(1.0, p, "test", "segment", samples, "two-sided", exact, Reach(units), error)


def pairs_of(systems: int, *metrics: str) -> list[Key]:
    return [(f"s{i}", f"s{j}", m) for m in metrics for i, j in combinations(range(systems), 2)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["none", "bonferroni", "holm", "bh"])
def test_every_metric_is_a_family_corrected_as_statsmodels_does(method: str) -> None:
    rng = np.random.default_rng(0)
    keys = pairs_of(4, "mae", "rmse")
    results = {key: result(float(p)) for key, p in zip(keys, rng.uniform(0, 0.1, 12), strict=True)}
    judged = Table.from_keys(keys, ResamplingSettings(correct=method)).corrected(results)
    names = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}
    for metric in ("mae", "rmse"):
        p = [results[key].p for key in keys if key[2] == metric]
        ours = [judged[key].p_corrected for key in keys if key[2] == metric]
        theirs = p if method == "none" else multipletests(p, method=names[method])[1]
        assert ours == pytest.approx(list(theirs))


def test_copies_and_metrics_without_direction_dilute_nothing_unless_asked() -> None:
    keys = [("a", "base", m) for m in ("bleu", "ter", "length")]
    keys += [("copy", "base", m) for m in ("bleu", "ter", "length")]
    results = {key: result(1.0 if key[0] == "copy" else 0.01) for key in keys}

    def corrected(scope: str) -> dict[str, float]:
        table = Table.from_keys(
            keys, ResamplingSettings(family=scope), alike={"copy": "base"}, undirected=["length"]
        )  # type: ignore[arg-type]
        judged = table.corrected(results)
        assert list(judged) == keys and judged["copy", "base", "bleu"].p_corrected == 1.0
        return {metric: judged["a", "base", metric].p_corrected for metric in ("bleu", "length")}

    assert corrected("metric") == {"bleu": 0.01, "length": 0.01}
    assert corrected("table") == {"bleu": 0.02, "length": 0.01}
    assert corrected("all") == pytest.approx({"bleu": 0.06, "length": 0.06})


def test_a_copy_of_a_system_asks_nothing_new() -> None:
    """Four systems are six pairs; a copy of one adds four comparisons, none of which is a new claim."""
    keys = pairs_of(4, "mae")
    values = dict(zip(keys, [0.002, 0.004, 0.3, 0.01, 0.5, 0.02], strict=True))
    alone = Table.from_keys(keys, SETTINGS).corrected({key: result(p) for key, p in values.items()})
    again = [("copy", f"s{i}", "mae") for i in range(1, 4)] + [("s0", "copy", "mae")]
    results = {key: result(p) for key, p in values.items()}
    results |= {key: result(values["s0", key[1], "mae"]) for key in again[:3]} | {again[3]: result(1.0)}
    table = Table.from_keys([*keys, *again], SETTINGS, alike={"copy": "s0"})
    assert table.largest == 6 and len(table.twins) == 3 and table.copies == {again[3]}
    judged = table.corrected(results)
    assert list(judged) == [*keys, *again]
    for key in keys:
        assert judged[key].p_corrected == alone[key].p_corrected
        if key[0] == "s0":
            assert judged["copy", key[1], "mae"].p_corrected == alone[key].p_corrected
    assert (
        Table.from_keys([*keys, *again], ResamplingSettings(family="all"), alike={"copy": "s0"}).largest == 10
    )


def test_resamples_follow_the_number_of_comparisons() -> None:
    for systems in (2, 5, 12, 24):
        table = Table.from_keys(pairs_of(systems, "mae", "rmse"), SETTINGS)
        pairs = systems * (systems - 1) // 2
        assert table.resamples() == max(1000, 20 * pairs / 0.05)
        # What issue 14 saw: with 1,000 samples, 55 pairs give .055 at best.
        assert pairs / (table.resamples() + 1) < 0.05 / 10
    assert Table.from_keys(pairs_of(12, "mae"), ResamplingSettings(correct="none")).resamples() == 1000


def test_too_few_resamples_are_said_where_they_matter() -> None:
    keys = pairs_of(12, "mae")
    table = Table.from_keys(keys, SETTINGS)
    values = [1 / 1001] * 60 + [0.3] * 6
    judged = table.corrected({key: result(p, samples=1000) for key, p in zip(keys, values, strict=True)})
    assert min(one.p_corrected for one in judged.values()) == pytest.approx(66 / 1001)  # no one can win
    short = table.short_of_samples(judged)
    assert set(short) == set(keys[:60]) and set(short.values()) == {26_400}
    enough = table.corrected({key: result(1 / 26_401, samples=26_400) for key in keys})
    assert not table.short_of_samples(enough) and max(o.p_corrected for o in enough.values()) < 0.05


def test_few_units_cannot_decide() -> None:
    """Sign flips of 5 units give 2 / 32 at best; 6 give .031, which three comparisons multiply."""
    one = Table.from_keys([("a", "b", "mae")], SETTINGS)
    for units, decided in [(2, False), (5, False), (6, True), (30, True)]:
        p = Reach(units).min_p
        judged = one.corrected({("a", "b", "mae"): result(p, units=units, exact=True)})["a", "b", "mae"]
        assert (judged.result.undecided is None) == decided
        assert np.isnan(judged.p_corrected) != decided and np.isnan(judged.result.p) != decided
    keys = pairs_of(3, "mae")
    three = Table.from_keys(keys, SETTINGS).corrected({key: result(0.04, units=6) for key in keys})
    assert all("6 segments" in each.result.undecided for each in three.values())
    assert all("among 3 comparisons" in each.result.undecided for each in three.values())
    assert three[keys[0]].result.to_json()["p"] is None


def test_what_cannot_be_decided_keeps_its_place_in_the_family() -> None:
    keys = pairs_of(3, "mae")
    results = {keys[0]: result(0.01), keys[1]: result(0.02), keys[2]: result(0.5, units=2)}
    judged = Table.from_keys(keys, SETTINGS).corrected(results)
    assert judged[keys[0]].p_corrected == pytest.approx(0.03)
    undefined = Table.from_keys(keys, SETTINGS).corrected({**results, keys[2]: result(float("nan"))})
    assert undefined[keys[0]].p_corrected == pytest.approx(0.02)  # NaN counts as no comparison


def test_borderline_p_values_are_named() -> None:
    table = Table.from_keys([("a", "b", "mae")], SETTINGS)

    def near(p: float) -> list[Key]:
        return table.borderline({("a", "b", "mae"): Pair("a", "b", "mae", result(p, samples=1000), p, "mae")})

    error = np.sqrt(0.05 * 0.95 / 1000)
    assert near(0.05) and near(0.05 + error) and near(0.05 - error) and not near(0.05 + 3 * error)
    assert not near(0.001)


def test_a_claim_for_several_kinds_of_units_takes_the_largest_p() -> None:
    documents, judges = result(0.01, units=40), result(0.2, units=4)
    outcome = largest_p([documents, judges])
    assert (outcome.p, outcome.min_p, outcome.units) == (0.2, 0.125, 4)
    assert largest_p([documents]) is documents
    assert np.isnan(largest_p([documents, result(float("nan"))]).p)


def test_what_is_missing_is_said_in_units() -> None:
    """Eight coins give 2 / 256 at best; of 36 comparisons, the best needs .05 / 36: eleven coins."""
    assert Reach(8, "system").shortfall(0.05) == ""
    assert Reach(8, "system").shortfall(0.05, 36) == (
        "the two differ in 8 systems: no p-value below 0.0078 is possible, and 0.0014 is needed among 36"
        " comparisons; that takes 11 systems"
    )
    assert Reach(4, tail="greater").needed(0.05) == 5
    # Six runs can be dealt in 20 ways, eight in 70.
    assert Runs(3, "run").min_p == 0.1 and Runs(3, "run").needed(0.05) == 4
    assert "3 runs of each system" in Runs(3, "run").shortfall(0.05)
    assert Runs(1, "run", runs=5).min_p == pytest.approx(1 / 6)
    # Three systems: each unit but the first is dealt in 6 ways.
    assert Permutations(3, systems=3, tail="greater").min_p == pytest.approx(1 / 36)
