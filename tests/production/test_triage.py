"""Triage: the thresholds that cost least, against brute force and by hand; figures, plot, command."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qe.data.dataset import LabelScale
from qe.display.charts import save
from qe.models.training_rows import HeldOutPredictions
from qe.production.triage import (
    ActionCosts,
    Estimate,
    Thresholds,
    closed_scale,
    cost_table,
    decide,
    thresholds,
    trade_off,
    triage,
)
from qe.production.triage_plots import trade_off_figure
from tests.factories import Monkeypatch, costs_file, ran

EFFORT = LabelScale("effort", 1, 5, True)
HTER = LabelScale("HTER", 0, 1, False)
COSTS = ActionCosts(good=4, publish_bad=5, post_edit=1, post_edit_worst=5, retranslate=4)


def noisy(n: int, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    gold = generator.uniform(1, 5, n)
    return gold, np.clip(gold + noise * generator.normal(size=n), 1, 5)


def test_costs_by_hand() -> None:
    table = cost_table(np.array([5.0, 4.0, 3.0, 1.0]), COSTS, EFFORT)
    assert table.tolist() == [[0, 1, 4], [0, 2, 4], [5, 3, 4], [5, 5, 4]]
    hter = ActionCosts(
        good=0.1, publish_good=0.5, publish_bad=9, post_edit=0, post_edit_worst=2, retranslate=1
    )
    assert cost_table(np.array([0.0, 0.1, 0.5, 1.0]), hter, HTER).tolist() == [
        [0.5, 0, 1], [0.5, 0.2, 1], [9, 1, 1], [9, 2, 1],
    ]  # fmt: skip


@settings(max_examples=80)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=9), st.integers(0, 10_000))
def test_thresholds_cost_as_little_as_any_pair(values: list[int], seed: int) -> None:
    quality = np.array(values, np.float64)
    table = np.random.default_rng(seed).integers(0, 6, (len(values), 3)).astype(np.float64)
    rows = np.arange(len(values))

    def cost(publish: float, retranslate: float) -> float:
        return float(table[rows, decide(quality, publish, retranslate)].sum())

    cuts = [-np.inf, *(np.unique(quality) + 0.5), np.inf]
    every = [cost(publish, low) for low, publish in itertools.product(cuts, cuts) if low <= publish]
    publish, retranslate = thresholds(quality, table)
    assert retranslate <= publish and cost(publish, retranslate) == pytest.approx(min(every))


def test_perfect_predictions_make_no_mistake_that_thresholds_can_avoid() -> None:
    gold, predicted = noisy(600, 0.0)
    decisions = triage(gold, predicted, COSTS, EFFORT)
    assert decisions.publish == pytest.approx(4, abs=0.03)
    assert decisions.retranslate == pytest.approx(2, abs=0.03)  # where editing costs what retranslating does
    assert decisions.shares["publish"].value == pytest.approx(np.mean(gold >= 4), abs=0.01)
    assert decisions.published_bad.value == pytest.approx(0, abs=0.02)
    best = cost_table(gold, COSTS, EFFORT).min(axis=1).mean()
    assert decisions.cost.value == pytest.approx(best, abs=0.02)
    single = cost_table(gold, COSTS, EFFORT).mean(axis=0)
    assert decisions.saved["post-edit"].value == pytest.approx(single[1] - decisions.cost.value, abs=1e-12)
    assert decisions.saved_share.value == pytest.approx(1 - decisions.cost.value / single.min(), abs=1e-12)


def test_useless_predictions_save_nothing_and_say_so() -> None:
    gold, _ = noisy(800, 0.0)
    decisions = triage(gold, np.random.default_rng(5).uniform(1, 5, 800), COSTS, EFFORT)
    assert decisions.saved_share.value is not None and decisions.saved_share.value < 0.02
    assert decisions.saved_share.ci is not None and decisions.saved_share.ci[0] < 0
    assert decisions.saved_share.ci[1] < 0 or "its 95 % interval includes 0" in decisions.verdict


def test_the_verdict_says_on_which_side_of_zero_the_interval_lies() -> None:
    gold, predicted = noisy(600, 0.3)
    decisions = triage(gold, predicted, COSTS, EFFORT)
    assert decisions.saved_share.ci is not None and decisions.saved_share.ci[0] > 0
    assert "significant" in decisions.verdict and decisions.to_json()["verdict"] == decisions.verdict
    for ci, words in (
        ((-0.01, 0.02), "includes 0"),
        ((0.0, 0.0), "includes 0"),
        ((-0.2, -0.1), "costs more"),
    ):
        assert words in replace(decisions, saved_share=Estimate(ci[0], ci)).verdict
    assert "undefined" in replace(decisions, saved_share=Estimate(None, None)).verdict


def test_error_rates_decline_with_the_direction_of_the_label() -> None:
    """HTER is effort turned around: the same decisions, the same figures."""
    gold, predicted = noisy(500, 0.5)
    turned = ActionCosts(good=0.25, publish_bad=5, post_edit=1, post_edit_worst=5, retranslate=4)
    one = triage(gold, predicted, COSTS, EFFORT)
    other = triage((5 - gold) / 4, (5 - predicted) / 4, turned, HTER)
    assert one.publish is not None and one.retranslate is not None
    assert other.publish == pytest.approx((5 - one.publish) / 4)
    assert other.retranslate == pytest.approx((5 - one.retranslate) / 4)
    assert other.cost == one.cost and other.shares == one.shares
    actions, turned_actions = (
        Thresholds(one.publish, one.retranslate, EFFORT), Thresholds(other.publish, other.retranslate, HTER)
    )  # fmt: skip
    assert [actions.action(x) for x in (5, 3, 1)] == ["publish", "post-edit", "retranslate"]
    assert [turned_actions.action(x) for x in (0, 0.5, 1)] == ["publish", "post-edit", "retranslate"]


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Cost of fixed decisions (one treatment is best for all): its bootstrap interval covers the mean."""
    free = ActionCosts(good=1, publish_bad=9, post_edit=1, post_edit_worst=3, retranslate=9, publish_good=8)
    truth, inside = 1 + 2 * 0.5, 0
    for seed in range(100):
        decisions = triage(*noisy(150, 0.5, seed), free, EFFORT, samples=300, seed=seed)
        assert decisions.shares["post-edit"].value == 1.0 and decisions.publish is None
        assert decisions.retranslate is None
        assert decisions.cost.ci is not None and decisions.published_bad.value is None
        inside += decisions.cost.ci[0] <= truth <= decisions.cost.ci[1]
    assert 87 <= inside <= 100


def test_publishing_everything_is_a_threshold_too() -> None:
    cheap = ActionCosts(good=4, publish_bad=0.1, post_edit=1, post_edit_worst=5, retranslate=4)
    decisions = triage(*noisy(100, 0.5), cheap, EFFORT)
    assert decisions.publish == 1.0 and decisions.shares["publish"].value == 1.0
    assert json.loads(json.dumps(decisions.to_json()))["publish"] == 1.0


def test_the_curve_ends_where_all_is_published() -> None:
    gold, predicted = noisy(400, 0.5)
    curve = trade_off(gold, predicted, COSTS, EFFORT, 2.0)
    table = cost_table(gold, COSTS, EFFORT)
    assert curve.published[[0, -1]].tolist() == [0, 1] and np.isnan(curve.bad[0])
    assert curve.bad[-1] == curve.perfect[-1] == curve.base == np.mean(gold < 4)
    assert curve.cost[-1] == pytest.approx(table[:, 0].mean())
    assert curve.cost[0] == pytest.approx(np.where(predicted < 2, table[:, 2], table[:, 1]).mean())
    assert (curve.perfect[1:] <= curve.bad[1:] + 1e-12).all()


@pytest.mark.slow
def test_the_plot_shows_the_chosen_point(tmp_path: Path) -> None:
    gold, predicted = noisy(300, 0.5)
    decisions = triage(gold, predicted, COSTS, EFFORT)
    figure = trade_off_figure(
        trade_off(gold, predicted, COSTS, EFFORT, decisions.retranslate), decisions, "minutes"
    )
    points = [tuple(line.get_xydata()[0]) for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert points == [(100 * decisions.shares["publish"].value, 100 * decisions.published_bad.value)]  # type: ignore[operator]
    assert figure.axes[1].get_ylabel() == "mean minutes per segment"
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    gold, predicted = noisy(300, 0.5)
    (tmp_path / "gold.txt").write_text("".join(f"{x}\n" for x in gold))
    lines = "".join(f"{i}\t{x}\t\n" for i, x in enumerate(predicted, start=1))
    (tmp_path / "scores.tsv").write_text("id\tscore\treason\n" + lines)
    costs_file(tmp_path, publish_bad=5, retranslate=4)
    options = {"--gold": "gold.txt", "--predictions": "scores.tsv", "--costs": "costs.yaml"}
    return ["triage", *(word for key, name in options.items() for word in (key, str(tmp_path / name)))]


@pytest.mark.slow
@pytest.mark.capability
def test_the_command(files: list[str], tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    printed = ran(*files, "--plot", tmp_path / "triage.png", "--samples", "100").out
    assert "predicted at least" in printed and "saved of the cheapest single treatment" in printed
    assert (tmp_path / "triage.png").is_file()
    content = json.loads(ran(*files, "--json", "--samples", "100").out)
    assert content["n"] == 300 and 3 < content["publish"] < 5 and len(content["cost"]["ci"]) == 2


def test_one_action_for_all_is_said_and_ends_with_1(files: list[str], tmp_path: Path) -> None:
    costs_file(tmp_path, good=5, publish_bad=99, post_edit_worst=1, retranslate=4)
    assert "all segments get the same action, post-edit" in ran(*files, code=1).out


@pytest.mark.parametrize(
    ("low", "high", "limits", "expected"),
    [
        (1.0, 5.0, (1.5, 4.5), (1.0, 5.0)),
        (None, None, (1.5, 4.5), (1.5, 4.5)),
        (0.0, None, (0.0, 4.5), (0.0, 4.5)),
        (None, None, None, (None, None)),
    ],
)
def test_an_open_scale_ends_at_the_training_labels(
    low: float | None, high: float | None, limits: tuple[float, float] | None, expected: object
) -> None:
    described: Any = SimpleNamespace(scale=LabelScale("da", low, high, True), limits=limits)
    scale = closed_scale(described)
    assert (scale.low, scale.high) == expected and (scale.name, scale.sign) == ("da", 1.0)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("costs.yaml", "good: 4", "good: 4 is outside of the middle 99 % of the labels, 10.4 to 89.6"),
        ("costs.yaml", "good: 70", ""),
        ("t.json", '{"publish": 4.5, "retranslate": 2}', "publish: 4.5 is outside .* retranslate: 2 is"),
        ("t.json", '{"publish": 60, "retranslate": null}', ""),
    ],
)
def test_thresholds_on_another_scale_than_the_labels_are_noted(
    tmp_path: Path, name: str, content: str, note: str
) -> None:
    labels = np.linspace(10, 90, 81)
    HeldOutPredictions.make(labels, labels).save(tmp_path)
    rest = "publish_bad: 9\npost_edit: 1\npost_edit_worst: 5\nretranslate: 4\n"
    (tmp_path / name).write_text(content + "\n" + rest * name.endswith("yaml"))
    scale = LabelScale("da", 0, 100, higher_is_better=True)
    found = Thresholds.from_file(tmp_path / name, tmp_path, scale)
    assert re.search(note, " ".join(found.notes)) if note else found.notes == ()
    assert "notes" not in repr(found)


@pytest.mark.slow
def test_the_model_says_what_the_label_is(files: list[str], demo_model: Path) -> None:
    plain = ran(*files, "--samples", "100", "--json").out
    assert ran(*files, "--samples", "100", "--json", "--model", demo_model).out == plain  # effort from 1 to 5
