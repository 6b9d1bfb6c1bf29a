"""Clark et al. 2011, Table 2 and Figure 2: single runs, tested one by one; differences by number of runs."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from qe.statistics import ResamplingSettings, randomization_test
from qe.systems import Bleu, Length, System, Texts, compare
from qe.systems.power import single_runs
from tests.factories import ran

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "to", "it")


def outputs(shares: list[float], seed: int) -> tuple[list[str], list[list[str]]]:
    """A reference of 60 lines, and runs that keep such shares of its words."""
    lines = [list(np.random.default_rng(9).choice(WORDS, 12)) for _ in range(60)]
    rng = np.random.default_rng(seed)
    runs = [[" ".join(w if rng.random() < s else "x" for w in line) for line in lines] for s in shares]
    return [" ".join(line) for line in lines], runs


def test_single_runs_are_the_tests_of_these_runs_alone() -> None:
    reference, base = outputs([0.70, 0.74, 0.72], 1)
    _, new = outputs([0.73, 0.80, 0.76], 2)
    systems = [
        System(n, tuple(Texts.from_lines(r) for r in runs)) for n, runs in (("base", base), ("new", new))
    ]
    settings = ResamplingSettings(samples=500, seed=3)
    built = compare(
        systems, [Texts.from_lines(reference)], {"bleu": Bleu(), "length": Length()}, settings=settings
    )
    (found,) = single_runs(built)
    assert (found.system, found.baseline, found.metric) == ("new", "base", "bleu")
    metric, columns = Bleu(), [Texts.from_lines(reference)]
    own = [metric.score(run, [reference]) for run in new]
    other = [metric.score(run, [reference]) for run in base]
    middle = own.index(sorted(own)[1]), other.index(sorted(other)[1])
    places = {
        "unlucky": (own.index(min(own)), other.index(max(other))),
        "median": middle,
        "lucky": (own.index(max(own)), other.index(min(other))),
    }
    for name, (a, b) in places.items():
        runs, result = found.cases[name]
        left, right = (metric.statistics(Texts.from_lines(run), columns) for run in (new[a], base[b]))
        alone = randomization_test(left, right, metric.aggregate, samples=500, seed=3)
        assert runs == (a, b) and result.p == alone.p
        assert result.difference == pytest.approx(own[a] - other[b])
    differences = np.array([a - b for a, b in product(own, other)])
    one, _, three = found.by_number_of_runs
    assert one.median == pytest.approx(np.median(differences))
    assert one.bounds == pytest.approx(np.percentile(differences, [2.5, 97.5]))
    assert one.opposite == pytest.approx(np.mean(differences <= 0))
    assert three.bounds == pytest.approx((np.mean(own) - np.mean(other),) * 2) and three.opposite == 0


@pytest.mark.slow
def test_the_output_of_single_runs_and_the_level(tmp_path: Path) -> None:
    reference, base = outputs([0.7, 0.72], 1)
    _, new = outputs([0.8, 0.78], 2)
    texts = {"ref": reference, "b0": base[0], "b1": base[1], "n0": new[0], "n1": new[1]}
    paths = {name: tmp_path / f"{name}.txt" for name in texts}
    for name, lines in texts.items():
        paths[name].write_text("".join(f"{line}\n" for line in lines), "utf-8")
    command = ["compare", "--references", paths["ref"], "--metrics", "bleu", "--samples", "2000", "--system",
               f"base={paths['b0']},{paths['b1']}", "--system", f"new={paths['n0']},{paths['n1']}",
               "--single-runs", "--level", "0.001", "--output", tmp_path / "out", "--quiet"]  # fmt: skip
    printed = ran(*command).out
    assert "unlucky" in printed and "Differences by the number of runs" in printed
    assert "*: p <= .001" in printed
    assert "uncorrected at .001, one of 1 is spurious with probability up to 0.0010" in printed
    (told,) = json.loads((tmp_path / "out" / "report.json").read_text())["single_runs"]
    assert set(told["cases"]) == {"unlucky", "median", "lucky"} and len(told["by_number_of_runs"]) == 2
    assert (tmp_path / "out" / "by-runs.png").stat().st_size > 1000
