"""Budgets of a search, by made-up trials."""

from datetime import datetime, timedelta

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from qe.training.study import seconds_of


def trial(start: float, end: float | None) -> FrozenTrial:
    """A trial from one second of a day to another."""
    midnight = datetime(2026, 1, 1)
    made = optuna.trial.create_trial(value=0.0, state=TrialState.COMPLETE)
    made.datetime_start = midnight + timedelta(seconds=start)
    made.datetime_complete = None if end is None else midnight + timedelta(seconds=end)
    return made


@pytest.mark.parametrize(("spans", "seconds"), [
    ([], 0), ([(0, 10)], 10),
    ([(0, 10), (100, 110)], 20),  # stopped, and gone on
    ([(0, 10), (2, 8), (5, 12)], 12),  # side by side
    ([(0, 10), (3, None)], 10),  # cut off by a kill
])  # fmt: skip
def test_time_is_what_was_computed_in(spans: list[tuple[float, float | None]], seconds: float) -> None:
    assert seconds_of([trial(*span) for span in spans]) == seconds
