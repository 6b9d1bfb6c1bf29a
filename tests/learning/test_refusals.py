"""What learners and selectors refuse when they are fitted, by the place that the message names."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.learning.learner import LEARNERS
from qe.learning.learners.ensembles import SeedAveragingRegressor, TunedRegressor
from qe.learning.learners.precomputed_kernel import KernelSumSvr
from qe.learning.learners.trees import ForestRegressor
from qe.learning.learners.unsupervised_mean import FeatureMean
from qe.learning.selector import NothingSelected
from qe.learning.selectors.columns import Family, Groups
from qe.learning.selectors.greedy import CostAware
from qe_papers.learners.svr import ImportanceWeightedSvr
from qe_papers.selectors.individual import FoldFrequency
from qe_papers.selectors.subset_search import SubsetSearch
from tests.factories import refuses
from tests.learning.learners.test_ensembles import RIDGE
from tests.learning.selectors.test_selection import data

X, Y = data(40, 4)
NAMED = pd.DataFrame(X, columns=["lm_src", "lm_tgt", "ibm1", "len"])
GROUPS = {"lm": ["lm_*"], "rest": ["ibm1", "len"]}
STEADY = {"kind": "lightgbm", "random_state": 3}
averaging = LEARNERS.get("averaging")().estimator
# What is refused, the learner or selector, and the columns that it is fitted to.
CASES: list[tuple[str, Any, Any]] = [
    ("`repeats` .* got 0", SeedAveragingRegressor(repeats=0), X),
    ("same every time", SeedAveragingRegressor(member=STEADY), X),
    ("`member` needs a `kind`", SeedAveragingRegressor(member={"alpha": 3}), X),
    ("17 columns, but there are 4", TunedRegressor(RIDGE, columns=17), X),
    ("`grid.alpha` .* got 1.0", TunedRegressor(RIDGE, grid={"alpha": 1.0}), X),
    (r"`grid.alpha` .* got \[\]", TunedRegressor(RIDGE, grid={"alpha": []}), X),
    ("learner 'ridge': .*alfa", TunedRegressor(RIDGE, grid={"alfa": [1.0]}), X),
    (r"`members` .*not empty.* got \[\]", averaging(members=[]), X),
    ("`members.0` needs a `kind`", averaging(members=[{"alpha": 1}]), X),
    ("`members.0.kind` .*mean 'ridge'", averaging(members=[{"kind": "rigde"}]), X),
    ("`members.0.slope` ", averaging(members=[{"kind": "ridge", "slope": 3}]), X),
    ("elastic_net, lightgbm, both", ImportanceWeightedSvr(importance="magic"), X),
    ("square", KernelSumSvr(precomputed=True), X),
    ("no feature matches 'lm_", KernelSumSvr([{"columns": ["lm_*"]}]), X),
    ("low < high", LEARNERS.get("rescaled")().estimator(low=5, high=1), X),
    ("no feature 'lm'", FeatureMean(negative=["lm"]), X),
    ("columns have no names", LEARNERS.get("lightgbm")().estimator(monotone_constraints={"len": -1}), X),
    (r"2\^25 subsets", SubsetSearch("exhaustive"), data(40, 25)[0]),
    (r"2\^15 subsets", SubsetSearch("exhaustive", learner={"kind": "m5p"}, validation=0.25), data(40, 15)[0]),
    ("metric 'kendall'; known: mae, rmse, delta_avg", SubsetSearch(metric="kendall"), X),
    ("no feature matches 'tags_", SubsetSearch(second=["tags_*"]), NAMED),
    ("left to the second round", SubsetSearch(second=["*"]), NAMED),
    ("pca", FoldFrequency({"kind": "pca"}), X),
    ("no feature matches 'pos_", Family(["pos_*"]), NAMED),
    ("features are selected by name", Family(["lm_*"]), X),
    ("no feature is left after", Family(drop=["*"]), NAMED),
    ("`use` names pos", Groups(GROUPS, {"pos": True}), NAMED),
    ("features are selected by name", Groups(GROUPS), X),
    ("costs are given by name", CostAware({"slow_*": 1.0}), X),
]


@pytest.mark.parametrize(("place", "model", "columns"), CASES)
def test_what_is_refused(place: str, model: Any, columns: Any) -> None:
    refuses(place, model.fit, columns, Y)


def test_weights_and_groups_that_are_refused() -> None:
    refuses("takes no weights", averaging(members=[{"kind": "m5p"}]).fit, X, Y, sample_weight=np.ones(40))
    without = Groups(GROUPS, {"lm": False, "rest": False})
    refuses("every group is switched off", without.fit, NAMED, Y, error=NothingSelected)


@pytest.mark.parametrize("link", [10**9, -5, 0])
def test_a_damaged_forest_is_refused(link: int) -> None:
    model = ForestRegressor(n_estimators=2).fit(X, Y)
    model.links_[0, 1] = link
    refuses("damaged", model.predict, X)
