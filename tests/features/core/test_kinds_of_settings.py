"""Settings of any type: a mistake is told, never a traceback."""

from dataclasses import fields
from typing import Any, Final

import pytest

from features.basics.errors import InputError
from features.core.feature_set import EXTRACTORS, setting_errors
from qe.learning.learner import LEARNERS
from qe.learning.parameters import Parameters, constructor, strategy_mistakes
from qe.learning.selector import SELECTORS

VALUES: Final[tuple[Any, ...]] = (
    *(None, 5, -1, 0.5, float("nan"), float("inf"), 10**30, True, "x", ""),
    *([], [None], [[]], [5], ["x"], [{}], [{"kind": None}], [{"kind": []}]),
    *({}, {1: 2}, {"kind": None}, {"kind": {}}, {"kind": "ridge"}, {"kind": "ridge", "alpha": {}}),
)


@pytest.mark.parametrize("name", EXTRACTORS.names)
def test_of_an_extractor(name: str) -> None:
    parameters = [entry.name for entry in fields(EXTRACTORS.get(name)) if entry.init]
    for parameter in parameters:
        for value in VALUES:
            told = list(setting_errors({"kind": name, parameter: value}))
            assert all(isinstance(error, InputError) for error in told)


@pytest.mark.parametrize(
    ("catalogue", "name"),
    [pytest.param(each, name, id=name) for each in (LEARNERS, SELECTORS) for name in each.names],
)
def test_of_a_learner_or_selector(catalogue: Any, name: str) -> None:
    owner = Parameters.from_constructor(constructor(catalogue, name), name)
    for parameter in owner.names:
        for value in VALUES:
            found = strategy_mistakes(catalogue, name, {parameter: value}, None, "learner", "learner.params")
            assert all(len(mistake) == 2 for mistake in found)
