"""Feature tables of experiments, and small resources for families that need some."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.tree_columns import tree_names
from features.storage.outputs import check_no_overlap, check_output
from qe.config.experiment import Experiment, load
from qe.data.writing import save_table
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.check import check
from qe.training.extraction import Compute
from qe.training.preparation import Prepared, prepare

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
    save_table(table, output)
    return table


def _labelled(split: str, features: pd.DataFrame, scores: Any) -> pd.DataFrame:
    gold = np.full(len(features), np.nan) if scores is None else scores
    left = pd.DataFrame({"split": split, "id": features.index, "gold": gold})
    brackets = {name: features[name].map(str) for name in tree_names(features)}
    return pd.concat([left, features.assign(**brackets).reset_index(drop=True)], axis=1)


@contextmanager
def demo_world(
    families: Sequence[str | Mapping[str, Any]], settings: Mapping[str, Any] | None = None
) -> Iterator[Prepared]:
    """Generated data with second translations, and a small bundle for the families named or configured."""
    with TemporaryDirectory(prefix="qe-features-") as folder:
        generate(Path(folder) / "data", pairs=300, train=240, test=1, new=1)
        columns = {"pseudo_reference": "train.post_edit", "back_translation": "train.source"}
        overrides = [f"dataset.splits.train.{name}={file}" for name, file in columns.items()]
        overrides += [f"resources.settings={json.dumps(dict(settings))}"] if settings else []
        overrides.append(f"features={json.dumps(list(families))}")
        experiment = load(EXPERIMENT, data_root=Path(folder), overrides=overrides)
        yield prepare(check(experiment), Path(folder) / "cache", silent)
