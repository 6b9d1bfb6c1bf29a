"""Feature tables of whole experiments."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.basics.errors import InputError
from features.basics.progress import Progress
from features.core.bundle import Bundle
from features.core.tree_columns import tree_names
from features.storage.files import atomic_file
from features.storage.outputs import check_no_overlap, check_output
from qe.config.experiment import Experiment
from qe.training.check import check
from qe.training.extraction import Compute
from qe.training.preparation import prepare

Engine = Callable[[Bundle | None], Compute]


def extract(
    experiment: Experiment, output: Path, cache: Path, progress: Progress, engine: Engine | None = None
) -> pd.DataFrame:
    """Write the feature table of every split as Parquet: split, id, gold label, and one column per feature.

    `engine` makes, from the resources, what runs the extractors that learn nothing elsewhere.
    """
    if output.suffix != ".parquet":
        problem = "feature tables are Parquet, but this is the name of something else"
        raise InputError(problem, location=output, remedy="let it end in .parquet")
    check_output(output, experiment.inputs())
    data = prepare(check(experiment), cache, progress)
    check_no_overlap(output, data.dataset.files(experiment.dataset.path))
    dataset, training, extraction = data.dataset, data.training, data.extraction
    if engine is not None:
        extraction = replace(extraction, compute=engine(data.bundle))
    tables = [_labelled("train", extraction.training_table(training, data.first_folds), training.scores)]
    for name, split in dataset.splits.items():
        if name not in experiment.split.train:
            features = extraction.scored(training, split.segments)
            tables.append(_labelled(name, features, split.scores))
    table = pd.concat(tables, ignore_index=True)
    with atomic_file(output) as temporary:
        table.to_parquet(temporary, index=False)
    return table


def _labelled(split: str, features: pd.DataFrame, scores: Any) -> pd.DataFrame:
    gold = np.full(len(features), np.nan) if scores is None else scores
    left = pd.DataFrame({"split": split, "id": features.index, "gold": gold})
    brackets = {name: features[name].map(str) for name in tree_names(features)}
    return pd.concat([left, features.assign(**brackets).reset_index(drop=True)], axis=1)
