"""Search parameters: their importance to the metric, and the values tried."""

from typing import Final

import numpy as np
import optuna
from matplotlib.figure import Figure
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial

from qe.display.drawing import BLUE, VERMILLION, canvas, headline
from qe.display.numbers import number
from qe.statistics.metric import METRICS, title_of
from qe.training.search import SearchResult
from qe.training.study import quiet

FEWEST: Final = 8  # trials, below which importances are noise
_MOST_PANELS: Final = 6


def importances(result: SearchResult) -> dict[str, float]:
    """Parameter -> its share of the variance of the first metric (fANOVA), largest first.

    Only trials of the chosen learner and selector count (Hutter, Hoos and Leyton-Brown 2014).

    None for fewer than 8 of them, or if their values do not differ.
    """
    trials = _alike(result)
    if len(trials) < FEWEST or len({trial.values[0] for trial in trials}) == 1:
        return {}
    with quiet():
        study = optuna.create_study(direction=result.study.directions[0])
        study.add_trials([_of_first_metric(trial) for trial in trials])
        shares = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    return {name: float(share) for name, share in shares.items()}


def _alike(result: SearchResult) -> list[FrozenTrial]:
    names = result.best_trial.params.keys()
    return [trial for trial in result.finished if trial.params.keys() == names]


def _of_first_metric(trial: FrozenTrial) -> FrozenTrial:
    return optuna.trial.create_trial(
        value=trial.values[0], params=trial.params, distributions=trial.distributions
    )


def slices(result: SearchResult, shares: dict[str, float]) -> Figure:
    """The first metric by the value of each parameter.

    The most important parameters come first; the chosen trial is red.

    shares  the importances, not empty
    """
    trials, metric = _alike(result), result.metrics[0]
    names = list(shares)[:_MOST_PANELS]
    figure, first = canvas(7.6, 1.6 + 2.4 * len(names))
    first.remove()
    panels = figure.subplots(len(names), 1, squeeze=False)[:, 0]
    heights = np.array([trial.values[0] for trial in trials])
    for axes, name in zip(panels, names, strict=True):
        values = [trial.params[name] for trial in trials]
        places = _places(values)
        axes.plot(places, heights, "o", color=BLUE, alpha=0.55, markersize=5, mew=0)
        own = trials.index(result.best_trial)
        axes.plot(places[own], heights[own], "o", color=VERMILLION, markersize=8)
        distribution = result.best_trial.distributions[name]
        if getattr(distribution, "log", False):
            axes.set_xscale("log")
        if not _numeric(values):
            axes.set_xticks(range(len(set(map(str, values)))), sorted(set(map(str, values))))
        axes.set(xlabel=f"{name} ({number(shares[name], 2)} of the variance)", ylabel=title_of(metric))
    better = "higher is better" if METRICS.get(metric).higher_is_better else "lower is better"
    headline(panels[0], "Search by parameter", f"{len(trials)} trials; {better}; in red the chosen one")
    return figure


def _numeric(values: list[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _places(values: list[object]) -> list[float]:
    if _numeric(values):
        return [float(value) for value in values]  # type: ignore[arg-type]
    names = sorted(set(map(str, values)))
    return [float(names.index(str(value))) for value in values]
