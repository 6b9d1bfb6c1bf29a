"""The plots of a run's predictions, drawn again from what lies in its folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from features.basics.errors import known_name
from qe.data.dataset import LabelScale
from qe.evaluation import prediction_plots
from qe.statistics.metrics.delta_avg import delta_avg_by_n


def prediction_figures(output: Path, report: Mapping[str, Any], split: str) -> dict[str, Figure]:
    """Predictions against gold labels, residuals, DeltaAvg by number of quantiles.

    Raises InputError for a split without labels, or that is not there.
    """
    table = pd.read_parquet(output / "predictions.parquet").dropna(subset=["gold", "predicted"])
    rows = table[table["split"] == known_name("split with labels", split, table["split"].unique())]
    gold, predicted = (np.asarray(rows[name], np.float64) for name in ("gold", "predicted"))
    scale = LabelScale(**report["data"]["label"])
    curve = delta_avg_by_n(scale.sign * gold, scale.sign * predicted)
    return {
        "predicted_against_gold": prediction_plots.predicted_against_gold(gold, predicted, scale),
        "residuals": prediction_plots.residuals(gold, predicted, scale),
        "delta_avg": prediction_plots.delta_avg_by_quantiles({report["experiment"]["name"]: curve}),
    }
