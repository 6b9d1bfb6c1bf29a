"""Report plots: what is drawn is what was given, in figures that need no display and no pyplot."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from PIL import Image

from qe.data.dataset import LabelScale
from qe.display.charts import save
from qe.evaluation.plots import delta_avg_by_quantiles, predicted_against_gold, residuals
from qe.training.plots import feature_importance, study_history

EFFORT = LabelScale("effort", 1, 5, True)
HTER = LabelScale("HTER", 0, None, False)
RANDOM = np.random.default_rng(3)
GOLD = np.clip(np.round(3.4 + 0.85 * RANDOM.standard_normal(200), 1), 1, 5)
PREDICTED = 3.4 + 0.5 * (GOLD - 3.4) + 0.3 * RANDOM.standard_normal(200)


def texts(figure: Figure) -> str:
    """All words of a figure."""
    listed = [t.get_text() for axes in figure.axes for t in axes.texts]
    for axes in figure.axes:
        listed += [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
        legend = axes.get_legend()
        listed += [t.get_text() for t in legend.get_texts()] if legend else []
        listed += [t.get_text() for t in axes.get_yticklabels()]
    return "\n".join(listed)


def line(axes: Axes, label: str) -> np.ndarray:
    return np.array(next(one for one in axes.lines if one.get_label() == label).get_xydata())


def every_figure() -> dict[str, Figure]:
    return {
        "predicted": predicted_against_gold(GOLD, PREDICTED, EFFORT),
        "residuals": residuals(GOLD, PREDICTED, EFFORT),
        "delta_avg": delta_avg_by_quantiles({"a": [0.5, 0.4], "b": [0.1, 0.0]}, 6),
        "importance": feature_importance(["a", "b"], [0.1, 0.2]),
        "history": study_history([0.1, 0.3, 0.2], "maximize", "DeltaAvg"),
    }


@pytest.mark.slow
def test_figures_become_png_files_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name, figure in every_figure().items():
        save(figure, tmp_path / f"{name}.png")
        with Image.open(tmp_path / f"{name}.png") as image:
            assert min(image.size) > 200
            assert len(set(np.asarray(image.convert("L")).ravel().tolist())) > 20  # not blank
    for name, figure in every_figure().items():
        save(figure, tmp_path / "again.png")
        assert (tmp_path / "again.png").read_bytes() == (tmp_path / f"{name}.png").read_bytes()


@pytest.mark.slow
def test_pyplot_is_not_loaded_and_global_settings_stay() -> None:
    script = (  # reading rcParams["backend"] would itself load pyplot; copy() does not
        "import sys, matplotlib; before = matplotlib.rcParams.copy();"
        "from tests.evaluation.test_plots import every_figure; every_figure();"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot was imported';"
        "assert matplotlib.rcParams.copy() == before"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).resolve().parents[2])


def test_titles_say_how_many_and_axes_say_the_scale() -> None:
    words = texts(predicted_against_gold(GOLD, PREDICTED, EFFORT))
    assert "n = 200 segments" in words and "gold effort (1 to 5, higher is better)" in words
    pearson = np.corrcoef(GOLD, PREDICTED)[0, 1]
    assert f"MAE {np.abs(GOLD - PREDICTED).mean():.3f}" in words and f"Pearson {pearson:.3f}" in words
    assert "predicted HTER (lower is better)" in texts(residuals(GOLD, PREDICTED, HTER))
    assert f"RMSE {np.sqrt(np.mean((GOLD - PREDICTED) ** 2)):.3f}" in texts(
        residuals(GOLD, PREDICTED, EFFORT)
    )


def test_points_lie_where_the_values_are() -> None:
    axes = predicted_against_gold(GOLD, PREDICTED, EFFORT).axes[0]
    cloud = max(axes.lines, key=lambda one: len(np.atleast_1d(one.get_xdata())))
    assert np.array_equal(np.array(cloud.get_xydata()), np.column_stack([GOLD, PREDICTED]))
    tenths = line(axes, "means per tenth of the predictions")
    assert tenths.shape == (10, 2) and tenths.mean(axis=0) == pytest.approx([GOLD.mean(), PREDICTED.mean()])
    cloud = max(residuals(GOLD, PREDICTED, EFFORT).axes[0].lines, key=lambda one: len(one.get_xydata()))
    assert np.allclose(np.array(cloud.get_xydata()), np.column_stack([PREDICTED, PREDICTED - GOLD]))


def test_undefined_pairs_are_counted_not_hidden() -> None:
    holes = PREDICTED.copy()
    holes[:7] = np.nan
    for figure in (predicted_against_gold(GOLD, holes, EFFORT), residuals(GOLD, holes, EFFORT)):
        assert "n = 193 segments (7 undefined)" in texts(figure)


def test_many_points_become_a_density() -> None:
    gold = RANDOM.random(5000)
    for figure in (predicted_against_gold(gold, gold, HTER), residuals(gold, gold**2, HTER)):
        assert len(figure.axes[0].collections) == 1
        counts = figure.axes[0].collections[0].get_array()
        assert counts is not None and counts.sum() == 5000


@pytest.mark.parametrize("n", [1, 2, 49])
def test_few_or_constant_points(n: int) -> None:
    figure = predicted_against_gold(np.full(n, 3.0), np.full(n, 3.0), LabelScale("x", None, None, True))
    assert "Pearson" not in texts(figure) and "means per tenth" not in texts(figure)
    residuals(np.full(n, 3.0), np.full(n, 3.0), EFFORT)


def test_delta_avg_starts_at_two_quantiles_best_model_first() -> None:
    figure = delta_avg_by_quantiles(
        {"poor": [0.1, 0.1, 0.1], "good": [0.5, 0.4, 0.6], "none": [0, 0, -1e-9]}, 8
    )
    axes = figure.axes[0]
    first = np.array(axes.lines[0].get_xydata())
    assert np.array_equal(first, [[2, 0.5], [3, 0.4], [4, 0.6]])
    assert "n = 8 segments" in texts(figure) and "0.500  good" in texts(figure)
    assert "-0.000" not in texts(figure)


def test_importance_shows_the_highest_first() -> None:
    names, values = [f"f{i}" for i in range(40)], np.arange(40.0)
    figure = feature_importance(names, values, spread=np.ones(40), top=30, unit="rise of MAE")
    bars = next(c for c in figure.axes[0].containers if isinstance(c, BarContainer))
    assert [bar.get_width() for bar in bars] == list(range(39, 9, -1))
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["f39", "f38"] and len(labels) == 30
    assert "top 30 of 40 features" in texts(figure) and "± 1 standard deviation" in texts(figure)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "expected", "winner"),
    [
        ("maximize", [0.2, 0.4, 0.4, 0.5], "0.5000 at trial 5"),
        ("minimize", [0.2, 0.2, 0.2, 0.2], "0.2000 at trial 2"),
    ],
)
def test_history_draws_the_best_so_far(direction: str, expected: list[float], winner: str) -> None:
    figure = study_history([np.nan, 0.2, 0.4, 0.3, 0.5], direction, "metric")  # type: ignore[arg-type]
    best = line(figure.axes[0], "best so far")[:, 1]
    assert np.isnan(best[0]) and best[1:].tolist() == expected
    assert winner in texts(figure) and "n = 4 of 5" in texts(figure)


def test_history_keeps_hopeless_trials_at_the_edge() -> None:
    values = [*(0.5 + 0.01 * np.arange(20)), -40.0]
    figure = study_history(values, "maximize", "DeltaAvg")
    assert "1 beyond the axis" in texts(figure)
    assert figure.axes[0].get_ylim()[0] > -1
