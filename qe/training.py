"""Training: the whole story of one experiment, from its file to a tracked, registered model."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.core.bundle import Bundle
from features.core.errors import InputError
from features.core.feature_set import FeatureSet, parts_needed
from features.core.files import digest
from features.core.progress import Progress, silent
from qe import baselines, reporting, search, tracking
from qe.companions import Calibration, make_companions
from qe.dataset import Dataset, Split, concatenate
from qe.evaluation import evaluate
from qe.experiment import Experiment, StrategySection
from qe.extraction import Extraction
from qe.formats._base import make_format
from qe.learners._base import LEARNERS
from qe.made_columns import with_made_columns
from qe.metrics._base import METRICS
from qe.model import Model
from qe.pipeline import Candidate, fit
from qe.resource_cache import OWN_CORPUS, corpus_absent, resources_for, rows_of_own_corpus
from qe.run_state import RunState
from qe.selection._base import SELECTORS
from qe.splits import Fold, make_folds

FloatArray = NDArray[np.float64]
SET_ASIDE = "{} training segments were set aside to calibrate prediction intervals, and not learned from"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What training leaves: the report (JSON values), the model, and where both lie."""

    report: dict[str, Any]
    model: Model
    output: Path
    run_id: str


def train(
    experiment: Experiment,
    output: Path,
    *,
    cache: Path,
    resume: bool = False,
    overwrite: bool = False,
    parent: str | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Runs one experiment; everything it makes lies in `output` and in MLflow.

    Killed at any point, `resume` goes on without losing a finished trial.

    Raises InputError for data or settings that cannot be used, before anything is written.
    """
    started = time.perf_counter()
    data = prepare(experiment, cache, progress, calibrating=True)
    dataset, training, extraction = data.dataset, data.training, data.extraction
    test, folds, bundle = test_split(dataset, experiment), data.folds, data.bundle
    state = RunState.open(output, _fingerprint(experiment, dataset, extraction), resume, overwrite)
    with tracking.run(
        experiment.name, description=experiment.description, resume=state.run_id, parent=parent
    ) as run:
        state.begin(run.id)
        reporting.log_start(run, experiment, dataset, training, extraction.feature_set, bundle)
        result, objective = search_candidates(
            experiment, training, extraction, folds, dataset, state.journal, run, progress
        )
        k = experiment.split.folds
        repeated = _gathered(objective.folds, objective.predictions(result.best), len(training), k)
        out_of_fold = repeated[0]
        nested = nested_predictions(experiment, training, extraction, dataset, progress)
        model = fit_model(experiment, dataset, training, extraction, result.best, bundle)
        companions = make_companions(
            training,
            extraction.training_table(training),
            out_of_fold,
            [fold.rows for fold in objective.folds[:k]],
            dataset.scale,
            experiment.seed,
            None if data.calibration is None else _calibration(model, extraction, training, data.calibration),
        )
        predictions = predict_splits(model, extraction, training, dataset, experiment)
        report = reporting.assemble(
            experiment=experiment,
            dataset=dataset,
            training=training,
            extraction=extraction,
            bundle=bundle,
            result=result,
            cross_validation={
                **_evaluated(experiment, dataset, training, folds[:k], out_of_fold),
                "repeats": _repeats(dataset, training, repeated),
            },
            nested=None if nested is None else _evaluated(experiment, dataset, training, folds[:k], nested),
            test=_test_report(experiment, dataset, training, test, predictions),
        )
        report["model"] = reporting.model_notes(model, output)
        model = model.described(**reporting.about(report))
        model.save(output / "model", companions.all())
        reporting.write(
            output, experiment, dataset, training, out_of_fold, nested, predictions, test, result, objective
        )
        report["intervals"] = companions.report()
        run.metrics(companions.metrics())
        report["seconds"] = round(time.perf_counter() - started, 2)
        report["registration"] = reporting.register(
            run, experiment, dataset, training, model, output / "model", report
        )
        reporting.log_end(run, output, report)
        state.finish()
    return Outcome(report, model, output, run.id)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What an experiment works on: data, folds, resources, and the way to feature tables.

    calibration   labelled rows that are not learned from, for split-conformal intervals
    """

    dataset: Dataset
    training: Split
    folds: list[Fold]
    bundle: Bundle | None
    extraction: Extraction
    calibration: Split | None = None


def prepare(
    experiment: Experiment, cache: Path, progress: Progress = silent, *, calibrating: bool = False
) -> Prepared:
    """Reads the data, makes the folds, and loads or builds the resources.

    `calibrating` sets aside the rows that split-conformal intervals ask for.
    Raises InputError for anything that cannot be used.
    """
    dataset = translated(read_dataset(experiment), experiment, cache, progress)
    training = training_split(dataset, experiment)
    corpus = training.segments  # what own resources would be built from
    needed = parts_needed(experiment.features)
    if needed and corpus_absent(experiment.resources):
        learned, given = rows_of_own_corpus(len(training))
        training, corpus = training.take(learned), training.segments.take(given)
        dataset = replace(dataset, notes=(*dataset.notes, OWN_CORPUS.format(len(given))))
    calibration = None
    if calibrating and experiment.intervals.method == "split":
        training, calibration = set_aside(dataset, training, experiment)
        if experiment.intervals.calibration is None:
            dataset = replace(dataset, notes=(*dataset.notes, SET_ASIDE.format(len(calibration))))
    folds = [
        fold
        for repeat in range(experiment.split.repeats)
        for fold in folds_of(training, experiment, experiment.split.folds, repeat)
    ]
    programs = {str(side): by for side, by in experiment.annotations.items()}
    bundle = resources_for(experiment.resources, corpus, needed, cache, progress, programs)
    section = experiment.split
    extraction = Extraction(
        FeatureSet.make(experiment.features, bundle),
        cache,
        section.by,
        section.block,
        section.seed,
        progress=progress,
    )
    return Prepared(dataset, training, folds, bundle, extraction, calibration)


def set_aside(dataset: Dataset, training: Split, experiment: Experiment) -> tuple[Split, Split]:
    """The rows to learn from, and those that calibrate the intervals: another split's, or some of them.

    Raises InputError where the split named is learned from, or has no labels.
    """
    section = experiment.intervals
    if section.calibration is None:
        rows, held_out = folds_of(training, experiment, max(2, round(1 / section.share)))[0]
        return training.take(rows), training.take(held_out)
    split = dataset.split(section.calibration)
    if section.calibration in experiment.split.train:
        raise InputError(
            f"the split '{section.calibration}' is learned from, and so cannot calibrate",
            where="intervals.calibration",
        )
    if split.scores is None or not np.isfinite(split.scores).all():
        raise InputError(f"the split '{section.calibration}' lacks labels", where="intervals.calibration")
    return training, split


def contribute(experiment: Experiment, *, cache: Path, progress: Progress = silent) -> int:
    """A worker's part: runs trials of the experiment's shared study until it has enough; returns its size.

    Raises InputError where the experiment names no `search.storage` that processes could share.
    """
    if experiment.search.storage is None:
        raise InputError(
            "a worker needs a study that processes share",
            where="search.storage",
            remedy="name a journal file or a database URL, the same for all workers",
        )
    data = prepare(experiment, cache, progress, calibrating=True)
    result, _ = search_candidates(
        experiment, data.training, data.extraction, data.folds, data.dataset, None, None, progress
    )
    return len(result.trials)


def read_dataset(experiment: Experiment) -> Dataset:
    """The experiment's dataset, tokenized as its `text` section says.

    Raises InputError for unknown keys of the format and for whatever the format finds wrong.
    """
    section = experiment.dataset
    if not section.path.exists():
        raise InputError("no such dataset", where=section.path, remedy="check `dataset.path`, or --data-root")
    dataset = make_format(section.format, section.options()).read(section.path)
    changes = {"kind": experiment.text.tokenizer, "normalise": experiment.text.normalise}
    changes = {key: value for key, value in changes.items() if value is not None}
    if not changes:
        return dataset
    splits = {name: _retokenized(split, changes) for name, split in dataset.splits.items()}
    return replace(dataset, splits=splits)


def translated(
    dataset: Dataset, experiment: Experiment, cache: Path | None, progress: Progress = silent
) -> Dataset:
    """The dataset with the second translations and annotations that the experiment asks for."""
    columns = experiment.made_columns()
    if not columns:
        return dataset
    splits = {
        name: replace(split, segments=with_made_columns(split.segments, columns, cache, progress))
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def _retokenized(split: Split, changes: dict[str, Any]) -> Split:
    segments = split.segments
    return replace(
        split,
        segments=replace(
            segments,
            source_tokenizer=replace(segments.source_tokenizer, **changes),
            target_tokenizer=replace(segments.target_tokenizer, **changes),
        ),
    )


def training_split(dataset: Dataset, experiment: Experiment) -> Split:
    """The rows that are learned from.

    Raises InputError where they have no labels, or labels are undefined.
    """
    split = concatenate([dataset.split(name) for name in experiment.split.train])
    if split.scores is None:
        raise InputError(f"the splits {', '.join(experiment.split.train)} have no labels to learn from")
    if not np.isfinite(split.scores).all():
        row = int(np.flatnonzero(~np.isfinite(split.scores))[0])
        raise InputError(f"segment '{split.segments.id[row]}' has no label")
    return split


def test_split(dataset: Dataset, experiment: Experiment) -> str | None:
    """The split that predictions.tsv is for: the one named, else `test...`, else `dev...`, else none."""
    if experiment.split.test is not None:
        dataset.split(experiment.split.test)
        return experiment.split.test
    others = [name for name in dataset.splits if name not in experiment.split.train]
    for prefix in ("test", "dev"):
        for name in others:
            if name.startswith(prefix):
                return name
    return None


def folds_of(split: Split, experiment: Experiment, folds: int, repeat: int = 0) -> list[Fold]:
    """Folds of the rows as the experiment's `split` section says; every repeat has a seed of its own."""
    section = experiment.split
    return make_folds(
        len(split),
        folds,
        seed=section.seed + repeat,
        by=section.by,
        block=section.block,
        documents=split.segments.doc_id,
    )


def search_candidates(
    experiment: Experiment,
    training: Split,
    extraction: Extraction,
    folds: Sequence[Fold],
    dataset: Dataset,
    journal: Path | None,
    run: tracking.Run | None,
    progress: Progress,
) -> tuple[search.SearchResult, search.Objective]:
    """The study over the folds of `training`; trials become child runs of `run`."""
    data = []
    for train_rows, held_out in folds:
        own, other = extraction.fold(training, train_rows, held_out)
        data.append(_fold_data(experiment, training, train_rows, held_out, own, other))
    objective = _objective(experiment, dataset, data)
    section = experiment.search
    storage = search.storage_at(section.storage) if section.storage else None
    result = search.run(
        objective,
        section,
        name=experiment.name,
        storage=storage or (search.journal(journal) if journal else None),
        seed=experiment.seed,
        warm_start=[p for path in section.warm_start for p in search.earlier_trials(path, objective.space)],
        shared=section.storage is not None,
        on_trial=reporting.trial_logger(run, experiment.search.objective) if run else None,
        progress=progress,
    )
    return result, objective


def nested_predictions(
    experiment: Experiment, training: Split, extraction: Extraction, dataset: Dataset, progress: Progress
) -> FloatArray | None:
    """Predictions of the whole procedure: for every outer fold, search on the others, fit, predict.

    None unless the experiment asks for outer folds. Inside an outer fold, the inner folds share the
    features cross-fitted on its training rows.
    """
    if experiment.split.outer is None:
        return None
    predictions = np.full(len(training), np.nan)
    outer = folds_of(training, experiment, experiment.split.outer)
    for number, (train_rows, held_out) in enumerate(outer):
        progress("nested cross-validation", number, len(outer))
        own, other = extraction.fold(training, train_rows, held_out)
        fitting = training.take(train_rows)
        data = [
            _fold_data(experiment, fitting, rows, out, own.iloc[rows], own.iloc[out])
            for rows, out in folds_of(fitting, experiment, experiment.split.folds)
        ]
        best = search.run(_objective(experiment, dataset, data), experiment.search, seed=experiment.seed).best
        whole = _fold_data(experiment, training, train_rows, held_out, own, other)
        predictions[held_out] = whole.predict(best, dataset.scale, experiment.seed)
    return predictions


def fit_model(
    experiment: Experiment,
    dataset: Dataset,
    training: Split,
    extraction: Extraction,
    best: Candidate,
    bundle: Bundle | None,
) -> Model:
    """The chosen candidate fitted on all training rows, with everything that scoring needs."""
    table = extraction.training_table(training)
    pipeline = fit(best.pipeline(experiment.seed), table, _scores(training), _weights(experiment, training))
    segments = training.segments
    return Model(
        experiment.name,
        best,
        pipeline,
        extraction.fitted_extractors(training),
        dataset.scale,
        (segments.source_tokenizer, segments.target_tokenizer),
        bundle,
        made_columns=experiment.made_columns(),
    )


def _calibration(model: Model, extraction: Extraction, training: Split, split: Split) -> Calibration:
    """The model's predictions of rows that it never saw."""
    table = extraction.fit_and_score(training, split.segments)[1]
    return Calibration(table.to_numpy(np.float64), model.predict_features(table), _scores(split))


def predict_splits(
    model: Model, extraction: Extraction, training: Split, dataset: Dataset, experiment: Experiment
) -> dict[str, FloatArray]:
    """Predictions for every split that was not learned from."""
    predictions = {}
    for name, split in dataset.splits.items():
        if name not in experiment.split.train:
            table = extraction.fit_and_score(training, split.segments)[1]
            predictions[name] = model.predict_features(table)
    return predictions


def _evaluated(
    experiment: Experiment, dataset: Dataset, training: Split, folds: Sequence[Fold], predicted: FloatArray
) -> dict[str, Any]:
    """The report of out-of-fold predictions beside the baselines'."""
    systems = {experiment.name: predicted} | baselines.cross_validated(
        training.segments, _scores(training), folds, dataset.scale
    )
    return _report(experiment, dataset, _scores(training), systems)


def _test_report(
    experiment: Experiment,
    dataset: Dataset,
    training: Split,
    test: str | None,
    predictions: dict[str, FloatArray],
) -> dict[str, Any] | None:
    """The report on the test split; None where there is none or its labels are not known."""
    if test is None or dataset.split(test).scores is None:
        return None
    split = dataset.split(test)
    lengths = baselines.length_features(training.segments), baselines.length_features(split.segments)
    systems = {experiment.name: predictions[test]} | baselines.predict(
        lengths[0], _scores(training), lengths[1], dataset.scale
    )
    return _report(experiment, dataset, _scores(split), systems)


def _report(
    experiment: Experiment, dataset: Dataset, gold: FloatArray, systems: dict[str, FloatArray]
) -> dict[str, Any]:
    section = experiment.evaluation
    report = evaluate(
        gold,
        systems,
        dataset.scale,
        baselines=baselines.NAMES,
        samples=section.samples,
        seed=section.seed,
        correction=section.correct,
    )
    return report.to_json()


def _objective(
    experiment: Experiment, dataset: Dataset, folds: Sequence[search.FoldData]
) -> search.Objective:
    for metric in (*experiment.search.objective, experiment.evaluation.metric):
        METRICS.get(metric)
    space = search.Space(
        [_directed(s, LEARNERS.get(s.kind)().estimator, dataset) for s in experiment.learner],
        [_directed(s, SELECTORS.get(s.kind), dataset) for s in experiment.selection],
    )
    return search.Objective(folds, space, experiment.search.objective, dataset.scale, experiment.seed)


def _directed(section: StrategySection, maker: Callable[..., Any], dataset: Dataset) -> StrategySection:
    """Tells strategies that rank which labels are good, where they ask (`label_sign`)."""
    if dataset.scale.higher_is_better or "label_sign" not in maker().get_params():
        return section
    return section.model_copy(update={"params": {"label_sign": dataset.scale.sign, **section.params}})


def _fold_data(
    experiment: Experiment,
    split: Split,
    train_rows: NDArray[np.int64],
    held_out: NDArray[np.int64],
    own: pd.DataFrame,
    other: pd.DataFrame,
) -> search.FoldData:
    scores, weights = _scores(split), _weights(experiment, split)
    return search.FoldData(
        own,
        scores[train_rows],
        None if weights is None else weights[train_rows],
        other,
        scores[held_out],
        held_out,
    )


def _gathered(
    folds: Sequence[search.FoldData], predictions: Sequence[FloatArray], n: int, k: int
) -> FloatArray:
    """(repeats, n) out-of-fold predictions in row order; every k folds are a repeat."""
    gathered = np.full((len(folds) // k, n), np.nan)
    for i, (fold, predicted) in enumerate(zip(folds, predictions, strict=True)):
        gathered[i // k, fold.rows] = predicted
    return gathered


def _repeats(dataset: Dataset, training: Split, predictions: FloatArray) -> dict[str, Any] | None:
    """Mean and standard deviation over the seeds of the folds, per metric; None for a single repeat.

    The intervals of the report are over segments: the two kinds of variance stand apart.
    """
    if len(predictions) == 1:
        return None
    gold = dataset.scale.sign * _scores(training)
    found = {}
    for name in ("delta_avg", "spearman", "pearson", "mae", "rmse"):
        values = [METRICS.get(name)().score(gold, dataset.scale.sign * row) for row in predictions]
        found[name] = {"mean": float(np.mean(values)), "sd_over_seeds": float(np.std(values, ddof=1))}
    return found


def _scores(split: Split) -> FloatArray:
    if split.scores is None:
        raise InputError("these segments have no labels")
    return split.scores


def _weights(experiment: Experiment, split: Split) -> FloatArray | None:
    """Row weights: the number of annotators behind each label to `weight_power`, relative to the mean."""
    if experiment.weights == "none":
        return None
    if split.annotators is None:
        raise InputError("the dataset does not say how many annotators judged", where="weights")
    powers = split.annotators**experiment.weight_power
    weights: FloatArray = powers / powers.mean()
    return weights


def _fingerprint(experiment: Experiment, dataset: Dataset, extraction: Extraction) -> str:
    """What a study depends on; the number of trials may grow."""
    settings = experiment.settings()
    settings["search"].pop("trials")
    keys = ("seed", "split", "weights", "weight_power", "selection", "learner", "search")
    relevant = {key: settings[key] for key in keys}
    return digest(
        json.dumps(relevant, sort_keys=True), dataset.fingerprint, extraction.feature_set.fingerprint
    )
