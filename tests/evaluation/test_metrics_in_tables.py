"""Every metric of the catalogue can be the one of an experiment: in reports, tables and summaries."""

import numpy as np
import pytest

from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import CLASS_METRICS, DEFAULT_METRICS, evaluate, metrics_of
from qe.evaluation.tables import notes, report_tables
from qe.statistics.metric import METRICS
from qe.statistics.settings import SignificanceSettings
from qe.training.summary import differences_table, scores_table
from tests.display.whole import check_whole

NUMBER = LabelScale("da", 1.0, 5.0, True)
CLASSES = LabelScale("critical", 0.0, 1.0, False, ("NOT", "ERR"))
SYSTEMS = ("own", "other", "mean")


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS.names)
def test_a_metric_is_in_every_table(metric: str) -> None:
    kind = METRICS.get(metric)
    scale = CLASSES if kind.kind == "classes" else NUMBER
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 80).astype(float) if scale.classes else rng.uniform(1, 5, 80)
    predictions = {name: np.clip(gold + rng.normal(0, s, 80), 0, 5) for s, name in enumerate(SYSTEMS, 1)}
    names = dict.fromkeys((metric, *metrics_of(scale), *DEFAULT_METRICS))
    report = evaluate(
        gold, predictions, scale, SignificanceSettings(samples=100), baselines=["mean"], metrics=tuple(names)
    )
    assert any(kind.title in column.title for table in report_tables(report) for column in table.columns)
    assert notes(report)
    section = report.to_json()
    scores = scores_table("Scores", section, metric)
    assert scores.columns[1].title == kind.title and len(scores.rows) == len(SYSTEMS)
    differences = differences_table(section, "own", metric)
    assert [row[0] for row in differences.rows] == ["mean"]
    for table in (scores, differences, *report_tables(report)):
        for width in (60, 80, 120, 200):
            check_whole(table, width)


def test_classes_have_metrics_of_their_own() -> None:
    assert metrics_of(CLASSES) == CLASS_METRICS and metrics_of(NUMBER) == DEFAULT_METRICS
    assert {METRICS.get(name).kind for name in CLASS_METRICS[:2]} == {"classes"}


@pytest.mark.parametrize(
    ("ends", "gold", "effort"),
    [
        ((1, 5), None, True),
        ((0, 1), None, False),
        ((None, None), [1.0, 4.5], True),
        ((None, None), [-2.7, 1.2], False),
    ],
)
def test_large_and_small_errors_are_those_of_labels_from_1_to_5(
    ends: tuple[float | None, float | None], gold: list[float] | None, effort: bool
) -> None:
    names = metrics_of(LabelScale("x", *ends, True), None if gold is None else np.array(gold))
    assert ("large_error" in names) == ("small_error" in names) == effort
    assert {"mae", "rmse", "pearson", "delta_avg"} <= set(names)
