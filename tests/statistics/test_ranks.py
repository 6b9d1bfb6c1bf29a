"""Rank intervals: what tests leave open, coverage, and what both verbs tell."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from qe.data import LabelScale
from qe.evaluation.evaluate import evaluate
from qe.statistics import correct, rank_intervals
from tests.factories import exit_code

EFFORT = LabelScale("effort", 1, 5, True)


@pytest.mark.slow
def test_ranks_of_the_truth_lie_within_all_intervals_at_once() -> None:
    """Independent normal scores with known standard errors: z tests, corrected by Holm."""
    from scipy import stats

    rng, truth, kept, simulations = np.random.default_rng(1), np.array([0.0, 0.0, 2.0, 4.0, 4.0]), 0, 400
    best = 1 + (truth[:, None] < truth).sum(axis=1)
    worst = (truth[:, None] <= truth).sum(axis=1)
    names, widths = list("abcde"), []
    for _ in range(simulations):
        scores = truth + rng.normal(0, 1, 5)
        pairs = list(combinations(range(5), 2))
        p = correct([2 * stats.norm.sf(abs(scores[i] - scores[j]) / np.sqrt(2)) for i, j in pairs])
        gains = {(names[i], names[j]): (scores[i] - scores[j], p[k]) for k, (i, j) in enumerate(pairs)}
        listed = [rank_intervals(names, gains, {})[name].simultaneous for name in names]
        # a rank that ties leave open is wrong only if the interval misses all of them
        kept += all(low <= worst[i] and high >= best[i] for i, (low, high) in enumerate(listed))
        widths.append(np.mean([high - low for low, high in listed]))
    assert kept / simulations >= 0.93
    assert np.mean(widths) < 4  # they tell something


def test_a_p_that_equals_the_level_shows_a_difference() -> None:
    """A test at a level rejects with p <= level; a p above it, or no gain, shows nothing."""
    for p, gain, ranks in [
        (0.05, 1.0, ["1", "2"]),
        (0.05, -1.0, ["2", "1"]),
        (0.0501, 1.0, ["1-2", "1-2"]),
        (0.05, 0.0, ["1-2", "1-2"]),
    ]:
        intervals = rank_intervals(["a", "b"], {("a", "b"): (gain, p)}, {})
        assert [str(intervals[name]) for name in "ab"] == ranks


def test_bootstrap_ranks_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    drawn = {
        name: np.round(rng.normal(mean, 1, 501), 1) for name, mean in (("a", 1.0), ("b", 0.5), ("c", -3.0))
    }
    intervals = rank_intervals(list("abc"), {}, drawn)
    for name, own in drawn.items():
        best = sorted(1 + sum(other[i] > own[i] for other in drawn.values()) for i in range(501))
        worst = sorted(sum(other[i] >= own[i] for other in drawn.values()) for i in range(501))
        assert intervals[name].bootstrap == (best[12], worst[488])
        assert intervals[name].simultaneous == (1, 3)


def test_qe_evaluate_tells_ranks() -> None:
    rng = np.random.default_rng(3)
    gold = rng.uniform(1, 5, 200)
    systems = {name: gold + rng.normal(0, sd, 200) for name, sd in (("a", 0.5), ("b", 0.52), ("c", 3.0))}
    report = evaluate(gold, systems, EFFORT, metrics=["delta_avg", "mae"])
    for metric in ("delta_avg", "mae"):
        ranks = report.ranks[metric]
        assert ranks["c"].simultaneous == ranks["c"].bootstrap == (3, 3)
        assert ranks["a"].simultaneous == ranks["b"].simultaneous == (1, 2)
    told = json.loads(json.dumps(report.to_json()))["ranks"]["mae"]["c"]
    assert told == {"simultaneous": [3, 3], "bootstrap": [3, 3]}


def test_qe_compare_tells_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    arguments = ["compare", "--metrics", "table:score_of=mean", "--ranks", "--quiet", "--samples", "2000"]
    for name, mean in (("a", 50), ("b", 50), ("c", 60)):
        values = rng.normal(mean, 5, 100)
        (tmp_path / name).write_text("".join(f"{value}\n" for value in values))
        arguments += ["--system", f"{name}={tmp_path / name}"]
    exit_code(*arguments, "--json")
    ranks = json.loads(capsys.readouterr().out)["ranks"]["table:score_of=mean"]
    assert ranks["c"]["simultaneous"] == [1, 1] and ranks["a"]["simultaneous"] == [2, 3]
