"""A small saved model, for families that read one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qe
from tests.training.several import section


def rows(n: int, seed: int) -> pd.DataFrame:
    """Texts of one to twelve words, and labels that depend on both lengths."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 13, (n, 2))
    texts = [[" ".join(random.choice(list("abcdefgh"), k)) for k in pair] for pair in lengths]
    score = 50 + 2.5 * (lengths[:, 1] - lengths[:, 0]) + random.normal(0, 5, n)
    return pd.DataFrame(texts, columns=["source", "target"]).assign(score=score.round(2).clip(0, 100))


def trained(folder: Path, name: str, table: pd.DataFrame, features: list[Any], **more: Any) -> Path:
    """The output folder of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{name}.tsv", sep="\t", index=False)
    label = {"name": "score", "low": 0, "high": 100, "higher_is_better": True}
    experiment = {
        "name": name,
        "dataset": section(str(folder / f"{name}.tsv"), target="es", label=label),
        "features": features,
        "learner": {"kind": "ridge", "params": {"alpha": 1.0}},
        "evaluation": {"robustness": False},
        "guard": False,
        **more,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        qe.train(experiment, folder / name, cache=folder / "cache")
    return folder / name


def small_model(folder: Path) -> Path:
    """The run of a model of 60 rows, made once."""
    made = folder / "general"
    return made if made.is_dir() else trained(folder, "general", rows(60, 1), ["surface"])
