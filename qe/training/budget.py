"""Budgets of a search: trials, time, trials without gain.

Each budget is that of the whole study, however often it was stopped and however many processes work on it.
"""

from collections.abc import Sequence
from datetime import datetime

from optuna.trial import FrozenTrial

from qe.config.experiment import SearchSection


def spent(trials: Sequence[FrozenTrial], best: FrozenTrial | None, section: SearchSection, total: int) -> str:
    """Why a search is over; nothing while it goes on.

    trials  those that ended
    best    the best of them, if one has a value
    total   how many there are at most
    """
    since = 0 if best is None else sum(trial.number > best.number for trial in trials)
    taken = seconds_of(trials)
    if len(trials) >= total:
        return "1 trial" if len(trials) == 1 else f"{len(trials)} trials"
    if section.time is not None and taken >= section.time:
        return f"its time is over ({in_units(section.time)}), after {len(trials)} trials"
    if section.without_gain is not None and since >= section.without_gain:
        return f"{since} trials without gain, of {len(trials)}"
    return ""


def spent_budget(
    trials: Sequence[FrozenTrial], sign: float, section: SearchSection, total: int
) -> SearchSection:
    """The section whose budgets end a search at these trials: another one if earlier ones have passed them.

    A search that is resumed with smaller budgets has more trials than these allow.

    sign  what the first value is multiplied with, so that less is better
    """
    for n in range(1, len(trials)):
        valued = [trial for trial in trials[:n] if trial.values]
        best = min(valued, key=lambda trial: sign * trial.values[0], default=None)
        if spent(trials[:n], best, section, total):
            return section.model_copy(update={"trials": len(trials), "without_gain": None})
    return section


def seconds_of(trials: Sequence[FrozenTrial]) -> float:
    """Seconds in which at least one trial ran.

    Pauses do not count, and parallel processes count once.
    """
    spans = [(t.datetime_start, t.datetime_complete) for t in trials]
    seconds, until = 0.0, datetime.min
    for start, end in sorted((start, end) for start, end in spans if start and end):
        seconds += max(0.0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return seconds


def in_units(seconds: float) -> str:
    """A duration as experiments write it.

    >>> in_units(1200.0), in_units(90.0), in_units(45.0)
    ('20m', '1.5m', '45s')
    """
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= size and (10 * seconds / size) % 1 == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
