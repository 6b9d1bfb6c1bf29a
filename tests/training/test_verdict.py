"""The verdict of a run: its figure, the best baseline, and what the test says."""

from typing import Any

import pytest

from qe.training.summary import verdict


def compared(baseline: str, p: float | None, difference: float, undecided: str | None) -> dict[str, Any]:
    pair = {"system": "mine", "baseline": baseline, "metric": "mae"}
    return {**pair, "difference": difference, "p_corrected": p, "undecided": undecided}


def report(p: float | None, difference: float, undecided: str | None = None, **parts: Any) -> dict[str, Any]:
    section = {
        "systems": {
            "mine": {"mae": 0.5, "ci": {"mae": [0.45, 0.55]}},
            "mean": {"mae": 0.75},
            "length": {"mae": 0.7},
        },
        "baselines": ["mean", "length"],
        "comparisons": [compared("mean", 0.5, -9.0, None), compared("length", p, difference, undecided)],
    }
    experiment = {"name": "mine", "evaluation": {"metric": "mae"}}
    return {"experiment": experiment, "test": section, "nested": None, "cross_validation": section, **parts}


@pytest.mark.parametrize(
    ("p", "difference", "undecided", "end"),
    [
        (0.0002, -0.2, None, "p < .001: better."),
        (0.02, 0.2, None, "p .020: worse."),
        (0.2, -0.2, None, "p .200: no difference is shown."),
        (None, -0.2, "too few", "the segments are too few to tell them apart."),
    ],
)
def test_the_best_baseline_is_what_counts(
    p: float | None, difference: float, undecided: str | None, end: str
) -> None:
    told = verdict(report(p, difference, undecided))
    assert told == f"MAE 0.500 [0.450, 0.550] on the test split; the best baseline, length, has 0.700; {end}"


@pytest.mark.parametrize(
    ("pearson", "end"), [(0.25, "of little use for ranking"), (0.4, "roughly"), (0.5, "enough to rank (")]
)
def test_it_says_what_a_better_model_is_good_for(pearson: float, end: str) -> None:
    made = report(0.0002, -0.2)
    made["test"]["systems"]["mine"]["pearson"] = pearson
    assert end in verdict(made)
    made["test"]["comparisons"] = [compared("length", 0.2, -0.2, None)]
    assert verdict(made).endswith("no difference is shown.")
    assert " in cross-validation; " in verdict(report(0.2, 1.0, test=None))


def test_a_run_says_it_first(demo_run: Any) -> None:
    from qe.training.page import run_page

    told = verdict(demo_run.report)
    page = run_page(demo_run.output)
    assert told.startswith("MAE ") and page.index(told.partition(";")[0]) < page.index("Learner svr_rbf")


def test_without_tests_and_without_baselines() -> None:
    made = report(0.2, 1.0)
    made["test"]["comparisons"] = []
    assert verdict(made).endswith("the best baseline, length, has 0.700.")
    made["test"]["baselines"] = []
    assert verdict(made) == "MAE 0.500 [0.450, 0.550] on the test split."
