"""scikit-learn's own questions to every learner; those that are left out stand here, with the reason.

A check that is left out must fail: a reason that holds no more is an error, too.
"""

import warnings
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from qe.learning.learner import LEARNERS
from tests.learning.learners.test_learners import QUICK

_EQUIVALENCE = "check_sample_weight_equivalence_on_dense_data"
_RELATIVE = "weights are relative to their mean, folds and draws go by rows: a weight of 2 is no second row"
_LIBSVM = "scikit-learn's own SVR fails it, too"
_LIGHTGBM = "LightGBM takes weights that are all 0"
LEFT_OUT: dict[str, dict[str, str]] = {
    **{
        name: {_EQUIVALENCE: _RELATIVE}
        for name in (
            "dcu_mean", "extra_trees", "importance_weighted_svr", "logistic", "mlp_ensemble", "pace",
            "polynomial", "precomputed_kernel", "random_feature_sets", "random_forest", "rescaled",
            "svr_consistent", "svr_tree_kernels", "tuned",
        )
    },
    **{
        name: {
            _EQUIVALENCE: _LIBSVM,
            "check_sample_weight_equivalence_on_sparse_data": _LIBSVM,
        }
        for name in ("svr_linear", "svr_poly", "svr_rbf")
    },
    "discretised": {"check_regressors_no_decision_function": "its classifier has one"},
    "lightgbm": {
        "check_no_attributes_set_in_init": "LightGBM keeps its further parameters so",
        "check_all_zero_sample_weights_error": _LIGHTGBM,
    },
    "ridge": {"check_non_transformer_estimators_n_iter": "scikit-learn's Ridge has no iterations by default"},
    "seed_averaging": {"check_all_zero_sample_weights_error": _LIGHTGBM},
    "svr_by_support": {"check_fit2d_1sample": "it says how many rows it needs in its own words"},
}  # fmt: skip
LEFT_OUT["svr_tree_kernels"]["check_regressor_data_not_an_array"] = "trees come in tables"
# Members that weigh rows, and smaller settings than the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    **QUICK,
    "averaging": {"members": [{"kind": "ridge"}, {"kind": "elastic_net"}]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_scikit_learns_checks(name: str) -> None:
    left_out = LEFT_OUT.get(name, {})
    estimator = LEARNERS.get(name)().estimator(**SETTINGS.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=left_out, on_skip=None, on_fail=None)
    failed = {
        each["check_name"]: str(each["exception"])[:300] for each in results if each["status"] == "failed"
    }
    assert not failed
    assert {each["check_name"] for each in results if each["status"] == "xfail"} == set(left_out)
