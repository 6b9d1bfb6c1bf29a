"""Learning curves: honest about what learned from which rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from sklearn.linear_model import Ridge

import qe
from features.surface import Surface
from qe.config import experiment
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.ablation import ALONE, learning_curve, learning_curve_plot, percentage_slope
from qe.training.check import check
from qe.training.preparation import prepare
from tests.factories import refuses


def loaded(demo_run: Any, features: str = "[surface]") -> experiment.Experiment:
    overrides = [
        "split.folds=3",
        "learner={kind: ridge, params: {alpha: 30}, space: {}}",
        f"features={features}",
    ]
    return experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides)


def test_all_rows_of_the_folds_are_cross_validation(demo_run: Any) -> None:
    """Against scikit-learn's ridge regression on the same folds."""
    config = loaded(demo_run)
    data = prepare(check(config), demo_run.output / "cache")
    size = min(len(train) for train, _ in data.first_folds)
    curve = learning_curve(config, [size, 40], cache=demo_run.output / "cache", draws=2, samples=0)
    assert [s.rows for s in curve.sizes] == [40, size]
    table = Surface().extract(data.training.segments)
    predicted = np.full(len(table), np.nan)
    for train, held_out in data.first_folds:
        middle = np.nan_to_num(np.nanmedian(table[train], axis=0))
        own, other = (np.where(np.isnan(table[r]), middle, table[r]) for r in (train, held_out))
        deviation = own.std(axis=0)
        deviation[deviation == 0] = 1
        own, other = ((x - own.mean(axis=0)) / deviation for x in (own, other))
        predicted[held_out] = Ridge(alpha=30).fit(own, data.scores[train]).predict(other)
    expected = pearsonr(data.scores, data.dataset.scale.clip(predicted)).statistic
    if len({len(train) for train, _ in data.first_folds}) == 1:
        assert curve.sizes[-1].mean("pearson") == pytest.approx(expected, abs=1e-6)
    else:
        assert curve.sizes[-1].mean("pearson") == pytest.approx(expected, abs=0.02)
    assert curve.sizes[-1].mean("mae") < curve.sizes[0].mean("mae")


@pytest.mark.capability
def test_draws_differ_and_have_intervals(demo_run: Any) -> None:
    curve = learning_curve(loaded(demo_run), [40, 80], cache=demo_run.output / "cache", draws=3, samples=100)
    for size in curve.sizes:
        values = {draw.metrics["pearson"] for draw in size.draws}
        assert len(values) > 1 and len(size.draws) == 3
        bounds = size.interval("pearson")
        assert bounds is not None and bounds[0] < size.mean("pearson") < bounds[1]
    slope = curve.to_json()["percentage_slope"]["mae"]
    assert slope == pytest.approx(100 * curve.sizes[1].mean("mae") / curve.sizes[0].mean("mae"))  # a doubling
    again = learning_curve(loaded(demo_run), [40, 80], cache=demo_run.output / "cache", draws=3, samples=100)
    assert again.to_json() == curve.to_json()
    assert learning_curve_plot({ALONE: curve}, "pearson").axes[0].get_xlabel() == "training rows"


def test_families_that_learn_from_labels_learn_from_the_drawn_rows_alone(
    demo_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from features.bag_of_words import BagOfWords

    fitted_on, fit = [], BagOfWords.fit

    def counted(self: BagOfWords, segments: Any, labels: Any) -> BagOfWords:
        fitted_on.append(len(segments))
        return fit(self, segments, labels)

    monkeypatch.setattr(BagOfWords, "fit", counted)
    config = loaded(demo_run, "[bag_of_words]")
    learning_curve(config, [45], cache=tmp_path, draws=1, samples=0)
    after_search = fitted_on[len(fitted_on) // 2 :]
    assert max(after_search) == 45


def test_percentage_slope_by_its_definition() -> None:
    """Bertoldi et al. 2012: 100 % is no learning, more is forgetting; b of a x^b by regression."""
    rows = np.array([1.0, 2, 3, 7, 20])
    for b in (0.0, -0.2, 0.1):
        assert percentage_slope(rows, 5 * rows**b) == pytest.approx(10 ** (b * np.log10(2) + 2))
    assert np.isnan(percentage_slope([10], [1])) and np.isnan(percentage_slope([1, 2], [0, 1]))


@pytest.mark.slow
def test_a_learning_curve_from_python_takes_data_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = ["wort " * n for n in rng.integers(2, 12, 60)]
    table = pd.DataFrame({"source": texts, "target": texts, "score": [len(text) / 50 for text in texts]})
    settings = {"name": "x", "features": ["surface"], "learner": {"kind": "ridge"}, "split": {"folds": 3}}
    data = qe.Dataset.from_frame(table, source_language="de", target_language="en", higher_is_better=True)
    curve = qe.learning_curve(settings, [20, 30], dataset=data, cache=tmp_path, draws=2, samples=0)
    assert [size.rows for size in curve.sizes] == [20, 30] and len(curve.sizes[0].draws) == 2
    assert curve.plot("mae").axes[0].get_xlabel() == "training rows"
    refuses("^sizes: 50 rows .* 40", qe.learning_curve, settings, [50], dataset=data, cache=tmp_path)
