"""What a search leaves in MLflow."""

from datetime import datetime
from types import SimpleNamespace
from typing import Any

from qe.training.search import Finished
from qe.training.tracked import MAX_CHILDREN, trial_logger


class _Run:
    """Remembers what is logged."""

    def __init__(self) -> None:
        self.children: list[str] = []
        self.steps: list[int] = []

    def metrics(self, values: Any, step: int = 0) -> None:
        self.steps.append(step)

    def child(self, name: str, *_: Any) -> None:
        self.children.append(name)


def test_a_long_search_has_child_runs_for_its_first_trials_and_its_improvements() -> None:
    run: Any = _Run()
    log = trial_logger(run, ("mae",))
    best: Any = None
    for number in range(1, 2 * MAX_CHILDREN + 1):
        value = 0.1 if number == MAX_CHILDREN + 7 else 0.5
        now = datetime.now()
        attributes = {"fold_values": {"mae": [value]}, "candidate": {}, "seconds": 0.1}
        trial: Any = SimpleNamespace(
            number=number - 1,
            values=[value],
            user_attrs=attributes,
            datetime_start=now,
            datetime_complete=now,
        )
        best = trial if best is None or value < best.values[0] else best
        log(Finished(number, trial, best))
    expected = [*range(1, MAX_CHILDREN + 1), MAX_CHILDREN + 7]
    assert run.children == [f"trial {number}" for number in expected]
    assert sorted(set(run.steps)) == list(range(1, 2 * MAX_CHILDREN + 1))
