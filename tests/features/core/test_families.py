"""Settings, phrases and columns of every family: told, never a traceback."""

import inspect
import pickle
import re
import subprocess
import sys
from dataclasses import fields
from typing import Any, Final

import pytest

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.bundle import RESOURCES
from features.core.extractor import Feature, phrase
from features.core.feature_set import EXTRACTORS, configured
from features.core.tree_columns import TREES
from qe.learning.learner import LEARNERS
from qe.learning.parameters import Parameters, constructor, strategy_mistakes
from qe.learning.selector import SELECTORS
from qe.statistics.metric import METRICS
from tests.factories import refuses

VALUES: Final[tuple[Any, ...]] = (
    *(None, 5, -1, 0.5, float("nan"), float("inf"), 10**30, True, "x", ""),
    *([], [None], [[]], [5], ["x"], [{}], [{"kind": None}], [{"kind": []}]),
    *({}, {1: 2}, {"kind": None}, {"kind": {}}, {"kind": "ridge"}, {"kind": "ridge", "alpha": {}}),
)


@pytest.mark.parametrize("name", EXTRACTORS.names)
def test_of_an_extractor(name: str) -> None:
    checked = configured({"kind": name})
    list(checked.errors())
    assert pickle.loads(pickle.dumps(checked)) == checked  # as other processes of a search get it
    parameters = [entry.name for entry in fields(EXTRACTORS.get(name)) if entry.init]
    for parameter in parameters:
        for value in VALUES:
            told = list(configured({"kind": name, parameter: value}).errors())
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


# Words of the field that a translator does not know.
JARGON = re.compile(
    r"log|probab|n-gram|perplex|entrop|ibm|nan\b|token|corpus|lexicon|vector|tag|lemma|tf-idf|p\(bad|percentile"
    r"|ratio|\bmodel|segment-|/|\^|=",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", EXTRACTORS.names)
def test_every_family_has_a_phrase_without_jargon(name: str) -> None:
    plain = EXTRACTORS.get(name).plain
    assert 0 < len(plain) <= 80 and not JARGON.search(plain), plain
    assert plain.replace("{text}", "").count("{") == 0


def test_a_feature_says_its_own_its_familys_or_its_description() -> None:
    both, own = Feature("a", "d", "", "", ""), Feature("a", "d", "", "", "words {}")
    assert phrase(own, "how the {text} is") == "words {}"
    assert phrase(both, "how the {text} is") == "how the segment is" and phrase(both, "") == "d {}"
    assert phrase(Feature("x_source_target", "", "", ""), "the {text}") == "the segment"


@pytest.mark.slow
@pytest.mark.parametrize(
    "catalogue", [EXTRACTORS, RESOURCES, LEARNERS, METRICS, SELECTORS, TREES], ids=lambda c: c.noun
)
def test_documentation_is_that_of_the_class(catalogue: Catalogue[object]) -> None:
    for name in catalogue.names:
        assert catalogue.documentation(name) == (inspect.getdoc(catalogue.get(name)) or "")


def test_names_of_a_catalogue_of_plugins_alone() -> None:
    assert TREES.names and all(issubclass(TREES.get(name), TREES.base) for name in TREES.names)
    refuses("unknown kind of trees 'constituent'.*did you mean 'constituents'", TREES.get, "constituent")


@pytest.mark.slow
def test_listing_families_imports_none() -> None:
    """`qe features list` is a second's work: neither numba nor training is loaded for it."""
    code = (
        "import sys; from qe.getting_started.catalogue.features import sets, summaries\n"
        "from qe.getting_started.catalogue.features import FeatureCosts\n"
        "assert len(summaries()) > 30 and sets(FeatureCosts.load())\n"
        "print(*(m for m in ('numba', 'mlflow', 'sklearn', 'features.surface') if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
