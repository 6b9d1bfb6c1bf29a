"""Ablation: each feature family alone, left out or added; and learning curves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.config.experiment import Experiment
from qe.display.summary import summarised, table_by
from qe.display.table import Table
from qe.evaluation.evaluate import Report, evaluate
from qe.models.pipeline import Candidate
from qe.training.candidates import search_candidates
from qe.training.check import check
from qe.training.fold_data import FoldData
from qe.training.objective import Objective
from qe.training.preparation import Prepared, prepare

METRICS = ("delta_avg", "spearman", "mae", "rmse")
FRACTIONS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@summarised
@dataclass(frozen=True)
class Ablation:
    """Out-of-fold figures of feature subsets and of training set sizes.

    The candidate is one throughout.

    Attributes
    ----------
    report : Report
        Systems `all`, `only FAMILY`, `without FAMILY` (and `BASE + FAMILY`), each against `all` (or
        BASE).
    sizes : mapping of str to int
        Columns per system.
    curve : mapping of int to mapping of str to float
        Number of training rows -> metric -> value.
    """

    candidate: Candidate
    report: Report
    sizes: Mapping[str, int]
    curve: Mapping[int, Mapping[str, float]]

    def summary(self) -> Table:
        """The subsets of features beside the reference."""
        return table_by("qe.training.ablation_tables.subsets_table", self)


def ablate(
    experiment: Experiment,
    *,
    cache: Path,
    base: Sequence[str] = (),
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Ablation:
    """Searches once with all features, then measures subsets with the parameters found.

    `base` names families that every other one is added to, one at a time.

    Raises InputError if there are fewer than two families, or a base is none of them.
    """
    data = prepare(check(experiment), cache, progress)
    families = data.extraction.feature_set.families()
    names = list(dict.fromkeys(families.values()))
    if len(names) < 2:
        raise InputError(f"an ablation needs at least two feature families, but there is only {names[0]}")
    for name in base:
        if name not in names:
            raise InputError(f"no family '{name}' in this experiment", remedy=f"it has {', '.join(names)}")
    result, objective = search_candidates(data, progress=progress)
    subsets = _subsets(names, families, base)
    predictions = {}
    for done, (system, columns) in enumerate(subsets.items()):
        progress("ablation", done, len(subsets))
        predictions[system] = _out_of_fold(objective, result.best, partial(_restricted, columns=columns))
    report = evaluate(
        data.scores,
        predictions,
        data.dataset.scale,
        baselines=(f"base: {' + '.join(base)}",) if base else ("all",),
        metrics=METRICS,
        samples=samples,
        seed=seed,
    )
    curve = _learning_curve(data, objective, result.best, seed, progress)
    return Ablation(result.best, report, {s: len(columns) for s, columns in subsets.items()}, curve)


def _subsets(names: Sequence[str], families: Mapping[str, str], base: Sequence[str]) -> dict[str, list[str]]:
    def columns(chosen: Sequence[str]) -> list[str]:
        return [column for column, family in families.items() if family in chosen]

    subsets = {"all": columns(names)}
    if base:
        label = " + ".join(base)
        subsets[f"base: {label}"] = columns(base)
        subsets |= {f"base + {name}": columns([*base, name]) for name in names if name not in base}
        return subsets
    subsets |= {f"only {name}": columns([name]) for name in names}
    return subsets | {f"without {name}": columns([n for n in names if n != name]) for name in names}


def _restricted(fold: FoldData, columns: Sequence[str]) -> FoldData:
    return replace(fold, train=fold.train[list(columns)], held_out=fold.held_out[list(columns)])


def _out_of_fold(
    objective: Objective, candidate: Candidate, change: Callable[[FoldData], FoldData]
) -> FloatArray:
    changed = replace(objective, folds=[change(fold) for fold in objective.folds])
    gathered = np.full(sum(len(fold.rows) for fold in objective.folds), np.nan)
    for fold, predicted in zip(changed.folds, changed.predictions(candidate), strict=True):
        gathered[fold.rows] = predicted
    return gathered


def _learning_curve(
    data: Prepared, objective: Objective, candidate: Candidate, seed: int, progress: Progress
) -> dict[int, dict[str, float]]:
    curve = {}
    for done, fraction in enumerate(FRACTIONS):
        progress("learning curve", done, len(FRACTIONS))
        predicted = _out_of_fold(objective, candidate, partial(_thinned, fraction=fraction, seed=seed))
        scored = evaluate(data.scores, {"all": predicted}, data.dataset.scale, metrics=METRICS, samples=0)
        rows = int(np.mean([round(fraction * _own(fold)) for fold in objective.folds]))
        curve[rows] = dict(scored.systems["all"].metrics)
    return curve


def _own(fold: FoldData) -> int:
    return len(fold.scores) - fold.others


def _thinned(fold: FoldData, fraction: float, seed: int) -> FoldData:
    own = _own(fold)
    drawn = np.sort(np.random.default_rng(seed).permutation(own)[: round(fraction * own)])
    rows = np.concatenate([drawn, np.arange(own, len(fold.scores))])
    weights = None if fold.weights is None else fold.weights[rows]
    places = None if fold.training_rows is None else fold.training_rows[drawn]
    return replace(
        fold, train=fold.train.iloc[rows], scores=fold.scores[rows], weights=weights, training_rows=places
    )


def to_json(ablation: Ablation) -> dict[str, Any]:
    """Plain values: the report, columns per system, the learning curve, the candidate."""
    return {
        "candidate": ablation.candidate.settings(),
        "columns": dict(ablation.sizes),
        "learning_curve": {str(rows): dict(values) for rows, values in ablation.curve.items()},
        **ablation.report.to_json(),
    }
