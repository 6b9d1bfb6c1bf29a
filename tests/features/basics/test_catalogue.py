"""Catalogues: files are entries, their documentation can be read without importing them."""

import inspect
import subprocess
import sys

import pytest

from features.basics.catalogue import Catalogue
from features.core.bundle import RESOURCES
from features.core.feature_set import EXTRACTORS
from features.core.tree_columns import TREES
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.statistics.metric import METRICS
from tests.factories import refuses


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
