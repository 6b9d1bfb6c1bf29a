"""Figures: a run's predictions beside the baselines', with intervals."""

from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.evaluation import baselines
from qe.evaluation.evaluate import CLASS_METRICS, DEFAULT_METRICS, evaluate, metrics_of
from qe.evaluation.oracles import SplitOracles, split_oracles
from qe.statistics.metric import METRICS
from qe.training.preparation import Prepared
from qe.training.reading import scores_of

REPEATED = ("delta_avg", "spearman", "pearson", "mae", "rmse")  # metrics of every repeat of the folds


def cross_validated(prepared: Prepared, predicted: FloatArray) -> dict[str, Any]:
    """The report of (n,) out-of-fold predictions, beside the baselines'."""
    systems = {prepared.experiment.name: predicted} | baselines.cross_validated(
        prepared.training.segments, prepared.scores, prepared.first_folds, prepared.dataset.scale
    )
    return _report(prepared.experiment, prepared.dataset, prepared.scores, systems, prepared.oracles)


def on_test(prepared: Prepared, predictions: dict[str, FloatArray]) -> dict[str, Any] | None:
    """The report on the test split; None if there is none or its labels are not known."""
    test = prepared.test
    if test is None or prepared.dataset.split(test).scores is None:
        return None
    split = prepared.dataset.split(test)
    lengths = baselines.length_features(prepared.training.segments), baselines.length_features(split.segments)
    systems = {prepared.experiment.name: predictions[test]} | baselines.predict(
        lengths[0], prepared.scores, lengths[1], prepared.dataset.scale
    )
    section = prepared.experiment.evaluation
    oracles = split_oracles(split, prepared.dataset.scale, samples=section.samples, seed=section.seed)
    return _report(prepared.experiment, prepared.dataset, scores_of(split), systems, oracles)


def over_repeats(prepared: Prepared, predictions: FloatArray) -> dict[str, Any] | None:
    """Mean and standard deviation of each metric over fold seeds; None for one repeat.

    predictions  (repeats, n); the intervals of the report are over segments: the two kinds of variance stand
                 apart
    """
    if len(predictions) == 1:
        return None
    by_repeat = [of_repeat(prepared, row) for row in predictions]
    summary = {}
    for name in by_repeat[0]:
        values = [scores[name] for scores in by_repeat]
        summary[name] = {"mean": float(np.mean(values)), "sd_over_seeds": float(np.std(values, ddof=1))}
    return summary


def of_repeat(prepared: Prepared, predicted: FloatArray) -> dict[str, float]:
    """The metrics of (n,) out-of-fold predictions of one repeat."""
    sign = prepared.dataset.scale.sign
    gold = sign * prepared.scores
    names = REPEATED if prepared.dataset.scale.classes is None else (*CLASS_METRICS, *REPEATED)
    return {name: METRICS.get(name)().score(gold, sign * predicted) for name in names}


def _report(
    experiment: Experiment,
    dataset: Dataset,
    gold: FloatArray,
    systems: dict[str, FloatArray],
    oracles: SplitOracles | None,
) -> dict[str, Any]:
    section = experiment.evaluation
    others = () if dataset.scale.classes is None else DEFAULT_METRICS
    report = evaluate(
        gold,
        systems,
        dataset.scale,
        baselines=baselines.NAMES,
        metrics=tuple(dict.fromkeys((*metrics_of(dataset.scale, gold), *others, section.metric))),
        samples=section.samples,
        seed=section.seed,
        correction=section.correct,
    )
    delta_avg = {name: report.score(name, "delta_avg") for name in systems}
    return {**report.to_json(), "oracles": None if oracles is None else oracles.to_json(delta_avg)}
