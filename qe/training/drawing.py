"""Drawing: which parameters a search tries next, the same whether it was stopped before or not.

A sampler draws from a stream of random numbers and from the trials that have ended. So it works on a study of
its own, in memory, which knows nothing of trials that a kill cut off; where a search goes on, the trials that
have ended are drawn once more, without being evaluated, and the stream is where it would have been.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

Parameters = Mapping[str, Any]


class _Other(Exception):
    """A trial was drawn with other parameters than before."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A study in memory; `first` are the parameters that the first trials are given."""

    study: optuna.Study
    draw: Callable[[optuna.Trial], object]
    first: Sequence[Parameters]

    def once(self, evaluate: Callable[[dict[str, Any]], FrozenTrial]) -> None:
        """Draws a trial's parameters, and learns how the trial ended that `evaluate` makes with them."""

        def objective(trial: optuna.Trial) -> Sequence[float]:
            self.draw(trial)
            ended = evaluate(dict(trial.params))
            for step, value in ended.intermediate_values.items():
                trial.report(value, step)
            if ended.state == TrialState.PRUNED:
                raise optuna.TrialPruned
            values: Sequence[float] = ended.values
            return values

        number = len(self.study.get_trials(deepcopy=False))
        if number < len(self.first):
            self.study.enqueue_trial(dict(self.first[number]))
        self.study.optimize(objective, n_trials=1)

    def replay(self, ended: Sequence[FrozenTrial]) -> bool:
        """Draws trials that have ended; returns whether they are the same.

        They are not where they were drawn by other code or settings, or by several processes.
        """
        for trial in ended:
            try:
                self.once(lambda parameters, trial=trial: _same(parameters, trial))  # type: ignore[misc]
            except _Other:
                return False
        return True


def _same(parameters: dict[str, Any], trial: FrozenTrial) -> FrozenTrial:
    if parameters != trial.params:
        raise _Other
    return trial


def drawing_of(
    study: optuna.Study,
    sampler: Callable[[int], optuna.samplers.BaseSampler],
    draw: Callable[[optuna.Trial], object],
    first: Sequence[Parameters],
) -> tuple[Drawing, bool]:
    """The drawing that goes on where `study` is, and whether it is that of an uninterrupted search.

    sampler  makes a sampler; trials that cannot be drawn again are followed by draws with another seed: what
             is given is added to it
    """
    known = ended(study)
    drawing = Drawing(_in_memory(study, sampler(0)), draw, first)
    if drawing.replay(known):
        return drawing, True
    other = Drawing(_in_memory(study, sampler(len(known))), draw, first)
    other.study.add_trials(known)
    return other, False


def _in_memory(study: optuna.Study, sampler: optuna.samplers.BaseSampler) -> optuna.Study:
    return optuna.create_study(directions=study.directions, sampler=sampler)


def ended(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that came to their end, pruned ones included; not those that a kill cut off."""
    trials: list[FrozenTrial] = study.get_trials(
        deepcopy=False, states=[TrialState.COMPLETE, TrialState.PRUNED]
    )
    return trials
