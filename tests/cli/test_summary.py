"""What a finished run looks like in a terminal."""

import pytest

from qe.cli._summary import comparisons
from qe.statistics.metric import title_of
from qe.training.summary import scores_table

SECTION = {
    "systems": {
        "a": {
            "delta_avg": 0.5, "mae": 0.6, "rmse": 0.7, "pearson": 0.81, "spearman": 0.9, "kendall": 0.4,
            "large_error_percent": 12.5,
            "ci": {"mae": [0.5, 0.7], "kendall": [0.3, 0.5], "large_error_percent": [10.0, 15.0]},
        }
    },
    "comparisons": [
        {"system": "a", "baseline": "mean", "metric": metric, "difference": 0.1, "p": 0.1, "p_corrected": 1}
        for metric in ("delta_avg", "mae", "kendall", "rmse")
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "cell"),
    [
        ("mae", "0.600 [0.500, 0.700]"),
        ("kendall", "0.400 [0.300, 0.500]"),
        ("large_error", "12.5 [10.0, 15.0]"),
    ],
)
def test_the_metric_of_the_experiment_stands_first_with_its_interval(metric: str, cell: str) -> None:
    table = scores_table("title", SECTION, metric)
    titles = [column.title for column in table.columns]
    assert titles[:2] == ["system", title_of(metric)] and len(set(titles)) == len(titles)
    assert "Pearson" in titles
    text = table.text(80)
    assert cell in text and "0.810" in text and text.count("[") == 1
    assert max(map(len, text.splitlines())) <= 80


def test_comparisons_are_those_of_the_metric_and_of_the_two_of_the_task() -> None:
    report = {"test": SECTION, "nested": None, "experiment": {"evaluation": {"metric": "kendall"}}}
    assert [line.split()[3] for line in comparisons(report)] == ["DeltaAvg", "MAE", "Kendall"]
