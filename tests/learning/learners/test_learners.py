"""The same questions to every learner, found by themselves; then each against its own outside check."""

import pickle
from typing import Any

import lightgbm
import numpy as np
import optuna
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.validation import has_fit_parameter

from features.basics.array_types import FloatArray
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import cross_fit
from qe.learning.learners.linear import LogisticRegressor, best_threshold
from qe.learning.learners.precomputed_kernel import KernelSumSvr
from qe.learning.learners.trees import ForestRegressor
from qe.learning.learners.unsupervised_mean import Calibration, FeatureMean
from qe_papers.learners.discretised import DiscretisedRegressor
from qe_papers.learners.linear import PlsRegressor
from qe_papers.learners.svr import ImportanceWeightedSvr
from tests.factories import Find

# Smaller settings where the defaults would take seconds; the questions are the same.
QUICK: dict[str, dict[str, Any]] = {
    "mlp_ensemble": {"n_members": 5, "epochs": 30},
    "random_forest": {"n_estimators": 20},
    "extra_trees": {"n_estimators": 20},
    "dcu_mean": {"n_estimators": 20},
    "lightgbm": {"n_estimators": 40},
    "averaging": {"members": [{"kind": "ridge"}, {"kind": "m5p"}]},
    "seed_averaging": {"member": {"kind": "lightgbm", "n_estimators": 10}, "repeats": 2},
    "svr_by_support": {"steps": [3.0, 2.5], "folds": 3},
}
LEARNS = [name for name in LEARNERS.names if name != "mean"]


def make(name: str, seed: int = 0) -> BaseEstimator:
    return LEARNERS.get(name)().estimator(seed=seed, **QUICK.get(name, {}))


def data(rows: int = 90, columns: int = 4, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Standardised features of which the first two matter, and scores between 1 and 5 in steps of .1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = 3 + 0.7 * X[:, 0] + 0.4 * X[:, min(1, columns - 1)] + 0.3 * rng.normal(size=rows)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.round(np.clip(y, 1, 5), 1)


@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_class(name: str) -> None:
    learner = LEARNERS.get(name)()
    assert type(learner).__doc__
    assert isinstance(learner, Learner)
    assert all(type(trusted) is str for trusted in learner.trusted_types)
    accepted = learner.estimator(seed=1).get_params()
    trial = optuna.trial.FixedTrial({k: next(iter(_values(d))) for k, d in learner.space.items()})
    drawn = {name: values.draw(trial, name) for name, values in learner.space.items()}
    assert set(drawn) == set(learner.space) <= set(accepted)
    learner.estimator(seed=1, **drawn)


def _values(distribution: Any) -> list[Any]:
    return list(getattr(distribution, "choices", ())) or [distribution.low]


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_corners_of_the_space(name: str) -> None:
    """Every end of every searched parameter fits and predicts."""
    learner, (X, y) = LEARNERS.get(name)(), data(60)
    for parameter, distribution in learner.space.items():
        ends = getattr(distribution, "choices", None) or (distribution.low, distribution.high)
        for value in ends:
            params = {**QUICK.get(name, {}), parameter: value}
            if (name, parameter) in (("k_neighbours", "n_neighbors"),):
                params[parameter] = min(value, len(y))
            if parameter == "n_estimators":
                params[parameter] = min(value, 40)
            predicted = learner.estimator(seed=0, **params).fit(X, y).predict(X)
            assert np.isfinite(predicted).all(), (parameter, value)


@pytest.mark.parametrize("name", LEARNS)
def test_contract_learns(name: str) -> None:
    X, y = data(160)
    predicted = make(name).fit(X[:100], y[:100]).predict(X[100:])
    assert predicted.shape == (60,)
    assert predicted.dtype == np.float64
    floor = 0.3 if name == "unsupervised_mean" else 0.7
    assert np.corrcoef(predicted, y[100:])[0, 1] > floor
    assert abs(predicted.mean() - y[100:].mean()) < 0.35


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_copies(name: str) -> None:
    """clone, pickle and skops: the same parameters, the same predictions; the seed decides alone."""
    X, y = data()
    model = make(name, seed=3).fit(X, y)
    predicted = model.predict(X)
    again = clone(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.fit(X, y).predict(X), predicted)
    # Array layout may change BLAS's order of summation, by the last bit.
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict(X), predicted, rtol=1e-13)
    stored = skops.io.dumps(model)
    itself = f"{type(model).__module__}.{type(model).__qualname__}"
    trusted = [itself, *LEARNERS.get(name).trusted_types]
    np.testing.assert_allclose(skops.io.loads(stored, trusted=trusted).predict(X), predicted, rtol=1e-13)
    fresh = make(name).fit(X, y).predict(X)
    np.testing.assert_array_equal(make(name).fit(X, y).predict(X), fresh)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_rows(name: str) -> None:
    """A row's prediction depends on no other row asked for; shuffled training data tells the same story."""
    X, y = data()
    order = np.random.default_rng(1).permutation(len(y))
    model = make(name).fit(X, y)
    predicted = model.predict(X)
    np.testing.assert_allclose(model.predict(X[order]), predicted[order], atol=1e-9)
    np.testing.assert_allclose(model.predict(X[:1]), predicted[:1], atol=1e-9)
    shuffled = make(name).fit(X[order], y[order]).predict(X)
    if name != "mean":
        assert np.corrcoef(shuffled, predicted)[0, 1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_odd_features(name: str) -> None:
    """One feature, constant features, collinear and duplicated features."""
    X, y = data()
    for odd in (
        X[:, :1],
        np.column_stack([X, np.zeros(len(y)), np.full(len(y), 7.0)]),
        np.zeros((len(y), 2)),
        np.column_stack([X, X, X[:, :1] + X[:, 1:2], -3 * X[:, :1]]),
    ):
        predicted = make(name).fit(odd, y).predict(odd)
        assert np.isfinite(predicted).all()
        assert predicted.min() > -2
        assert predicted.max() < 8


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_contract_odd_labels(name: str) -> None:
    """Constant labels come back; labels far outside of 1 .. 5 are nothing special."""
    X, y = data()
    constant = make(name).fit(X, np.full(len(y), 3.0)).predict(X)
    np.testing.assert_allclose(constant, 3.0, atol=0.26)  # within the SVR's epsilon
    far = make(name).fit(X, 100 * y - 1000).predict(X)
    assert np.isfinite(far).all()
    assert -1000 < far.mean() < -400


WEIGHED = [name for name in LEARNERS.names if has_fit_parameter(make(name), "sample_weight")]


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHED)
def test_contract_weights(name: str) -> None:
    """Equal weights change nothing; rows of weight 0 matter less than they did."""
    X, y = data(160)
    if name == "averaging":
        model = LEARNERS.get(name)().estimator(members=[{"kind": "ridge"}, {"kind": "svr_rbf"}])
    else:
        model = make(name)
    plain = clone(model).fit(X, y).predict(X)
    equal = clone(model).fit(X, y, sample_weight=np.ones(160)).predict(X)
    if name != "random_forest":  # draws other bootstrap samples once there are weights
        np.testing.assert_allclose(equal, plain, atol=1e-6)
    wrong = np.where(np.arange(160) < 80, y, 6 - y)
    weighted = clone(model).fit(X, wrong, sample_weight=np.where(np.arange(160) < 80, 1.0, 1e-3)).predict(X)
    misled = clone(model).fit(X, wrong).predict(X)
    assert np.abs(weighted - y).mean() < np.abs(misled - y).mean() + (1e-9 if name == "mean" else 0)


@pytest.mark.parametrize(
    "name", ["pls", "polynomial", "ridge", "kernel_ridge", "svr_rbf", "precomputed_kernel"]
)
def test_weight_two_is_two_copies(name: str) -> None:
    """Own learners keep the penalty relative to the mean weight (here 1.5): the copies get its C / 1.5."""
    X, y = data(60)
    twice = np.arange(60) % 2
    params: dict[str, Any] = {"polynomial": {"alpha": 1e-9, "degree": 1}}.get(name, {})
    rescaled: dict[str, Any] = {}
    if name == "precomputed_kernel":
        params = {"groups": [{"columns": ["*"], "kernel": "linear"}], "C": 1.5, "epsilon": 0.1}
        rescaled = {"C": 1.0}
    rows = np.repeat(np.arange(60), 1 + twice)
    model = LEARNERS.get(name)().estimator(**params)
    weighted = clone(model).fit(X, y, sample_weight=1.0 + twice).predict(X)
    copied = clone(model).set_params(**rescaled).fit(X[rows], y[rows]).predict(X)
    # libsvm stops at a tolerance of 1e-3; the others solve exactly.
    iterative = name in ("svr_rbf", "precomputed_kernel")
    np.testing.assert_allclose(weighted, copied, atol=2e-3 if iterative else 1e-6)


def test_svr_reaches_the_best_of_the_grid(shared_data: Find) -> None:
    """golden/svr: 96 configurations, the best and its error; all of them lie within the searched space."""
    grid = pd.read_csv(shared_data("golden/svr/grid_cv.tsv"), sep="\t")
    best = grid.loc[grid["mean_test_score"].idxmax()]
    params = {name: float(best[f"param_svr__{name}"]) for name in ("C", "gamma", "epsilon")}
    X = np.loadtxt(shared_data("wmt12-qe/baseline_features/training.tsv"))
    y = np.loadtxt(shared_data("wmt12-qe/training_set_annotations/target_system.effort"))
    learner = LEARNERS.get("svr_rbf")()
    model = make_pipeline(StandardScaler(), learner.estimator(**params))
    folds = KFold(5, shuffle=True, random_state=0)
    errors = cross_val_score(model, X, y, cv=folds, scoring="neg_mean_absolute_error")
    assert errors.mean() == pytest.approx(best["mean_test_score"], abs=1e-6)
    for name in params:
        searched, column = learner.space[name], grid[f"param_svr__{name}"]
        assert searched.low <= column.min() <= column.max() <= searched.high


def test_pls_is_scikit_learns() -> None:
    X, y = data(60, 6)
    ours = PlsRegressor(3).fit(X, y)
    theirs = PLSRegression(3, scale=False).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X).ravel(), atol=1e-9)
    full = PlsRegressor(50).fit(X, y)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), y, rcond=None)[0]
    np.testing.assert_allclose(full.coef_, exact[:-1], atol=1e-8)
    assert full.n_components_ <= 6


def test_forests_are_scikit_learns() -> None:
    X, y = data()
    ours = ForestRegressor(n_estimators=10, seed=4).fit(X, y)
    theirs = RandomForestRegressor(10, max_features=0.33, min_samples_leaf=3, random_state=4).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)
    ours = ForestRegressor(random_thresholds=True, bootstrap=False, n_estimators=10).fit(X, y)
    random = ExtraTreesRegressor(10, max_features=0.33, min_samples_leaf=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), random.predict(X), atol=1e-12)


def test_importance_weights_follow_the_recipe() -> None:
    X, y = data(200)
    model = ImportanceWeightedSvr().fit(X, y)
    assert model.weights_[0] == 1.0
    assert model.weights_.min() == pytest.approx(0.15)
    assert model.svr_.gamma == pytest.approx(0.2 / (model.weights_**2).sum())
    plain = SVR(C=1.0, gamma=0.2 / 4, epsilon=0.2).fit(X, y)
    level = ImportanceWeightedSvr(floor=1.0).fit(X, y)
    np.testing.assert_allclose(level.predict(X), plain.predict(X))


def test_kernel_sum_of_one_group_is_svr() -> None:
    X, y = data()
    ours = KernelSumSvr([{"columns": ["*"], "gamma": 0.1}], C=2.0, epsilon=0.1).fit(X, y)
    theirs = SVR(gamma=0.1, C=2.0, epsilon=0.1).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


def test_kernel_sum_of_linear_groups_is_linear_svr() -> None:
    X, y = data()
    groups = [{"columns": [0, 1], "kernel": "linear"}, {"columns": [2, 3], "kernel": "linear"}]
    ours = KernelSumSvr(groups, C=0.5).fit(X, y)
    # Each group's kernel is divided by its mean diagonal: 2 for two standardised features.
    theirs = SVR(kernel="linear", C=0.5, epsilon=0.2, tol=1e-5).fit(X / np.sqrt(2), y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X / np.sqrt(2)), atol=5e-3)


def test_precomputed_kernel_is_sliced_in_cross_validation() -> None:
    X, y = data(60)
    ours = cross_val_predict(KernelSumSvr(precomputed=True), X @ X.T, y, cv=3)
    theirs = cross_val_predict(SVR(kernel="linear", epsilon=0.2), X, y, cv=3)
    np.testing.assert_allclose(ours, theirs, atol=5e-3)


def test_halves_are_rounded_up() -> None:
    """1.5, 2.5, 3.5 are the classes 2, 3, 4 (half to even: 2, 2, 4); steps of .5 stay."""
    X, y = np.arange(6.0)[:, None], np.array([1.5, 2.5, 3.5, 1.4, 2.49, 3.0])
    assert DiscretisedRegressor(interval=1.0).fit(X, y).classes_.tolist() == [1, 2, 3, 4]
    assert DiscretisedRegressor(interval=1.0).fit(X[:3], y[:3]).classes_.tolist() == [2, 3, 4]
    assert DiscretisedRegressor(interval=0.5).fit(X[:3], y[:3]).classes_.tolist() == [1.5, 2.5, 3.5]


def test_rescaled_is_equation_1_of_dcu() -> None:
    """S' = 1 + 4 (S - S_min) / (S_max - S_min), the extremes those of scikit-learn's cross-fitting."""
    X, y = data(60)
    member = {"kind": "ridge", "alpha": 2.0}
    ours = LEARNERS.get("rescaled")().estimator(member=member, low=1.0, high=5.0, folds=4).fit(X, y)
    held_out = cross_val_predict(Ridge(2.0), X, y, cv=KFold(4))
    fitted = Ridge(2.0).fit(X, y).predict(X)
    expected = 1 + 4 * (fitted - held_out.min()) / (held_out.max() - held_out.min())
    np.testing.assert_allclose(ours.predict(X), expected.clip(1, 5), atol=1e-6)


def test_discretised_classes_and_expectation() -> None:
    X, y = data(200)
    model = DiscretisedRegressor("naive_bayes", interval=0.7).fit(X, y)
    np.testing.assert_allclose(model.classes_ / 0.7, np.round(model.classes_ / 0.7))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    likely = DiscretisedRegressor("naive_bayes", 0.7, "most_likely").fit(X, y).predict(X)
    assert set(np.round(likely, 6)) <= set(np.round(model.classes_, 6))


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["naive_bayes", "k_neighbours", "svm", "logistic", "tree", "forest"])
def test_every_classifier(classifier: str) -> None:
    X, y = data(200)
    model = DiscretisedRegressor(classifier).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.7
    stored = skops.io.loads(skops.io.dumps(model), trusted=list(LEARNERS.get("discretised").trusted_types))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def test_calibration_keeps_the_ranking() -> None:
    scores, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.5, 4.0, 4.5])
    line = Calibration("linear").fit(scores, y)
    slope, intercept = np.polyfit(scores, y, 1)
    np.testing.assert_allclose(line.predict(scores), slope * scores + intercept)
    steps = Calibration("isotonic").fit(scores, y).predict(np.array([0.0, 1.5, 3.5, 9.0]))
    np.testing.assert_allclose(steps, [1.75, 1.75, 4.25, 4.5])
    falling = Calibration("linear").fit(scores, -y).predict(scores)
    np.testing.assert_allclose(falling, -y.mean())


@pytest.mark.slow
def test_cross_fit_never_sees_the_row() -> None:
    """A nearest neighbour repeats the label of any row it has seen."""
    X, y = data(30)
    neighbour = LEARNERS.get("k_neighbours")().estimator(n_neighbors=1)
    assert (cross_fit(neighbour, X, y, 30) != y).sum() > 20
    np.testing.assert_array_equal(neighbour.fit(X, y).predict(X), y)


def test_feature_mean_uses_labels_for_the_scale_alone() -> None:
    X, y = data(100, 2)
    model = FeatureMean(negative=[1]).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert np.corrcoef(model.predict(X), Z[:, 0] - Z[:, 1])[0, 1] == pytest.approx(1.0)
    wide = X * [50.0, 1.0]  # DFKI takes scores as they are: those with the widest scale decide
    raw = FeatureMean(negative=[1], standardise=False).fit(wide, y)
    assert np.corrcoef(raw.predict(wide), wide[:, 0] - wide[:, 1])[0, 1] == pytest.approx(1.0)
    np.testing.assert_allclose(FeatureMean(negative=[1]).fit(wide, y).predict(wide), model.predict(X))
    hter = FeatureMean(negative=[1], label_sign=-1.0).fit(X, -y)
    np.testing.assert_allclose(hter.predict(X), -model.predict(X))


def test_feature_mean_without_labels_has_the_scale_of_its_own_deviations() -> None:
    for X in (data(100, 2)[0], np.zeros((4, 2))):
        Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        mean = (Z[:, 0] - Z[:, 1]) / 2
        expected = (mean - mean.mean()) / (mean.std() or 1.0)
        np.testing.assert_allclose(FeatureMean(negative=[1]).fit(X).predict(X), expected, atol=1e-12)


def two_classes(rows: int = 400, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Features, and labels of which one in eight is 1."""
    X, y = data(rows, seed=seed)
    return X, (y > np.quantile(y, 7 / 8)).astype(float)


def test_logistic_has_the_coefficients_of_scikit_learn() -> None:
    X, y = two_classes()
    model = LogisticRegressor(C=0.3).fit(X, y)
    expected = LogisticRegression(C=0.3, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_[0], atol=1e-6)
    np.testing.assert_array_equal(np.argsort(model.predict(X)), np.argsort(expected.predict_proba(X)[:, 1]))


@pytest.mark.slow
def test_logistic_parts_the_classes_in_the_middle() -> None:
    """A rare class is predicted; the threshold is the one of best correlation, tried one by one."""
    X, y = two_classes()
    X_new, y_new = two_classes(seed=1)
    predicted = LogisticRegressor().fit(X, y).predict(X_new)
    unmoved = LogisticRegression().fit(X, y).predict(X_new)
    assert predicted.min() >= 0 and predicted.max() <= 1
    assert matthews_corrcoef(y_new, predicted > 0.5) > matthews_corrcoef(y_new, unmoved)
    rng = np.random.default_rng(2)
    upper, probabilities = rng.random(60) < 0.2, np.round(rng.random(60), 2)
    best = best_threshold(upper, probabilities, np.ones(60))
    tried = [matthews_corrcoef(upper, probabilities > t) for t in np.linspace(0, 1, 2001)]
    assert matthews_corrcoef(upper, probabilities > best) == pytest.approx(max(tried))


def test_logistic_with_labels_between_the_ends_is_the_fractional_logit() -> None:
    """Rows that stand for both classes in their shares: the same as repeated rows."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    share = np.repeat([0.0, 0.25, 0.75, 1.0], 10)
    model = LogisticRegressor(C=4.0).fit(X, 1 + 4 * share)
    fours = LogisticRegression(C=1.0, max_iter=1000).fit(  # four rows for one, and a quarter of the penalty
        np.repeat(X, 4, axis=0), np.concatenate([[1] * int(4 * s) + [0] * int(4 - 4 * s) for s in share])
    )
    np.testing.assert_allclose(model.coef_, fours.coef_[0], atol=1e-3)
    assert model.predict(X).min() >= 1 and model.predict(X).max() <= 5


@pytest.mark.parametrize("labels", [[0.0] * 8, [0.0] * 7 + [1.0], [0.0] * 6 + [1.0] * 2])
def test_logistic_with_hardly_a_label_of_the_other_class(labels: list[float]) -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    assert np.isfinite(LogisticRegressor().fit(X, np.array(labels)).predict(X)).all()


def test_trees_stop_where_held_out_rows_want_it() -> None:
    """LightGBM's own early stopping finds as many trees on the same held-out rows."""
    X, y = data(200)
    make = {"n_estimators": 400, "learning_rate": 0.2, "early_stopping_round": 5}
    stopped = LEARNERS.get("lightgbm")().estimator(seed=3, **make).fit(X, y)
    part = ShuffleSplit(1, test_size=0.2, random_state=3)
    train, held_out = next(part.split(X))
    plain = {"deterministic": True, "force_row_wise": True, "subsample_freq": 1, "verbose": -1, "n_jobs": 1}
    own = lightgbm.LGBMRegressor(n_estimators=400, learning_rate=0.2, random_state=3, **plain)
    own.fit(
        X[train],
        y[train],
        eval_X=X[held_out],
        eval_y=y[held_out],
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    assert 1 <= own.best_iteration_ < 100
    assert stopped.booster_.num_trees() == own.best_iteration_
    assert stopped.n_estimators == 400  # a parameter stays what it was
    again = clone(stopped).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(again.predict(X), stopped.predict(X))


def test_predictions_do_not_rise_with_a_constrained_feature() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(300, 2)), columns=["free", "odd, name"])
    y = np.sin(9 * table["odd, name"]) + table["free"]
    learner = LEARNERS.get("lightgbm")()
    steps = pd.DataFrame({"free": 0.5, "odd, name": np.linspace(0, 1, 200)})
    free = learner.estimator().fit(table, y).predict(steps)
    params = {"monotone_constraints": {"odd, name": -1, "dropped by a selector": 1}}
    bound = learner.estimator(**params).fit(table, y)
    assert (np.diff(free) > 0.01).any() and (np.diff(bound.predict(steps)) <= 0).all()
    assert list(learner.feature_names(params)) == ["odd, name", "dropped by a selector"]
    loaded = skops.io.loads(skops.io.dumps(bound), trusted=[*learner.trusted_types])
    np.testing.assert_array_equal(loaded.predict(steps), bound.predict(steps))
