"""Candidates: the search over learners, selectors and parameters, inside the folds."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FixedTrial

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.config.experiment import Experiment, StrategySection
from qe.data.dataset import Dataset, Split
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS
from qe.training import search
from qe.training.auxiliary import FoldTables, together_with
from qe.training.fold_data import FoldData
from qe.training.identity import identity
from qe.training.objective import Objective
from qe.training.preparation import Prepared
from qe.training.reading import folds_of, scores_of
from qe.training.space import Space
from qe.training.study import earlier_trials, mended, storage_at

Helped = Callable[[str], AbstractContextManager[None]]


def search_candidates(
    prepared: Prepared,
    *,
    journal: Path | None = None,
    shared: bool = False,
    chosen: int | None = None,
    on_trial: search.OnTrial | None = None,
    helped: Helped | None = None,
    progress: Progress = silent,
) -> tuple[search.SearchResult, Objective]:
    """The study over the folds of the training rows.

    journal   the study's file, from which a killed search goes on
    shared    whether the study is that of `search.storage`, where the experiment names one
    chosen    the number of the trial to take; default: the best
    on_trial  called after every trial that this process, or one that helps it, has finished
    helped    address of the study -> a block in which other processes of the run add trials, too
    """
    experiment, section = prepared.experiment, prepared.experiment.search
    objective = _objective(experiment, prepared.dataset, _data(prepared))
    address = section.storage if shared and section.storage else None if journal is None else str(journal)
    note = mended(address) if address else ""
    if helped is not None and address is not None and not objective.space.single:
        with helped(address):
            added = _contributed(prepared, objective, address, progress)
        if on_trial:
            for each in added():
                on_trial(each)
    result = search.run(
        objective,
        section,
        storage=None if address is None else storage_at(address),
        shared=shared and section.storage is not None,
        chosen=chosen,
        on_trial=on_trial,
        progress=progress,
        **_known(prepared, objective, address),
    )
    return replace(result, note=note), objective


def contribute(prepared: Prepared, address: str) -> None:
    """Adds trials to the study at an address until enough have begun.

    Other processes of the run may work on the same study.
    """
    _contributed(prepared, _objective(prepared.experiment, prepared.dataset, _data(prepared)), address)


def _contributed(
    prepared: Prepared, objective: Objective, address: str, progress: Progress = silent
) -> Callable[[], list[search.Finished]]:
    section, known = prepared.experiment.search, _known(prepared, objective, address)
    return search.contribute(objective, section, storage=storage_at(address), progress=progress, **known)


def _known(prepared: Prepared, objective: Objective, address: str | None) -> dict[str, Any]:
    experiment = prepared.experiment
    earlier = [p for path in experiment.search.warm_start for p in earlier_trials(path, objective.space)]
    return {
        "name": experiment.name,
        "seed": experiment.seed,
        "warm_start": earlier,
        "identity": identity(prepared, objective.space),
        "location": address,
    }


def _data(prepared: Prepared) -> list[FoldData]:
    return [
        fold_data(prepared, prepared.training, *fold, tables)
        for repeat in prepared.repeats
        for fold, tables in zip(repeat, prepared.folds_of(repeat), strict=True)
    ]


def best_candidate(prepared: Prepared, progress: Progress = silent) -> tuple[Candidate, Objective]:
    """The candidate that the study chooses.

    If there is nothing to search, nothing is fitted to choose it.

    The objective's folds are empty then.
    """
    objective = _objective(prepared.experiment, prepared.dataset, [])
    if objective.space.single:
        return objective.space.draw(FixedTrial({})), objective
    result, objective = search_candidates(prepared, progress=progress)
    return result.best, objective


def nested_predictions(prepared: Prepared, progress: Progress = silent) -> FloatArray | None:
    """(n,) nested predictions of the whole procedure.

    For each outer fold: search on the other folds, fit, predict.

    None unless the experiment asks for outer folds. Inside an outer fold, the inner folds share the
    features cross-fitted on its training rows.
    """
    experiment, training, dataset = prepared.experiment, prepared.training, prepared.dataset
    if experiment.split.outer is None:
        return None
    predictions = np.full(len(training), np.nan)
    outer = folds_of(training, experiment, experiment.split.outer)
    tables = prepared.folds_of(outer)
    for number, ((train_rows, held_out), table) in enumerate(zip(outer, tables, strict=True)):
        progress("nested cross-validation", number, len(outer))
        fitting = training.take(train_rows)
        data = [
            fold_data(prepared, fitting, rows, out, table.inner(rows, out), train_rows[rows])
            for rows, out in folds_of(fitting, experiment, experiment.split.folds)
        ]
        best = search.run(_objective(experiment, dataset, data), experiment.search, seed=experiment.seed).best
        whole = fold_data(prepared, training, train_rows, held_out, table)
        predictions[held_out] = whole.predict(best, dataset.scale, experiment.seed)
    return predictions


def out_of_fold_predictions(prepared: Prepared, objective: Objective, best: Any) -> FloatArray:
    """(repeats, n) out-of-fold predictions of the training rows.

    Each comes from a pipeline that was fitted without the row.
    """
    k = prepared.experiment.split.folds
    gathered = np.full((len(objective.folds) // k, len(prepared.training)), np.nan)
    for i, (fold, predicted) in enumerate(zip(objective.folds, objective.predictions(best), strict=True)):
        gathered[i // k, fold.rows] = predicted
    return gathered


def _objective(experiment: Experiment, dataset: Dataset, folds: Sequence[FoldData]) -> Objective:
    for metric in (*experiment.search.objective, experiment.evaluation.metric):
        if METRICS.get(metric).kind == "classes" and dataset.scale.classes is None:
            raise InputError(
                f"{metric} is for labels of two classes, but `{dataset.scale.name}` is a number",
                remedy="choose another metric, or name the classes: dataset.label.classes: [OK, BAD]",
            )
    space = Space(
        [_directed(s, LEARNERS.get(s.kind)().estimator, dataset) for s in experiment.learner],
        [_directed(s, SELECTORS.get(s.kind), dataset) for s in experiment.selection],
        experiment.clip,
    )
    return Objective(folds, space, experiment.search.objective, dataset.scale, experiment.seed)


def _directed(section: StrategySection, constructor: Callable[..., Any], dataset: Dataset) -> StrategySection:
    if dataset.scale.higher_is_better or "label_sign" not in constructor().get_params():
        return section
    return section.model_copy(update={"params": {"label_sign": dataset.scale.sign, **section.params}})


def fold_data(
    prepared: Prepared,
    split: Split,
    train_rows: NDArray[np.int64],
    held_out: NDArray[np.int64],
    tables: FoldTables,
    columns: NDArray[np.int64] | None = None,
) -> FoldData:
    """`columns`: the places of the training rows among all, if `split` is not all of them."""
    scored = split.segments.take(held_out)
    rows = together_with(
        [each.without(scored) for each in tables.added],
        tables.own,
        *prepared.learned(split, train_rows),
    )
    return FoldData(
        rows.table,
        rows.scores,
        rows.weights,
        tables.other,
        scores_of(split)[held_out],
        held_out,
        train_rows if columns is None else columns,
        rows.others,
        prepared.experiment.clip,
    )
