"""The same questions to every selector, found by themselves; then each against brute force or a tool."""

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import normalized_mutual_info_score
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from qe.config.distributions import Distribution
from qe.learning.learners.m5p import M5PRegressor
from qe.learning.selector import SELECTORS, Selector
from qe.learning.selectors.columns import CorrelationPruning, Family, Groups, PrincipalComponents
from qe.learning.selectors.greedy import BackwardElimination, CostAware, ForwardSelection, splits
from qe.learning.selectors.paths import KernelRefit, Path, backward_path, forward_path
from qe.statistics.metric import METRICS
from qe_papers.selectors.cfs import CorrelationBased, cut_points, uncertainties
from qe_papers.selectors.individual import FoldFrequency, GreedyIndividual
from qe_papers.selectors.subset_search import SubsetSearch, position_weights


def make(name: str) -> Selector:
    return SELECTORS.get(name)()


def data(rows: int = 120, columns: int = 6, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Standardised features of which the first and the fourth matter; scores between 1 and 5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = 3 + 0.7 * X[:, 0] + 0.5 * X[:, min(3, columns - 1)] + 0.4 * rng.normal(size=rows)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.round(np.clip(y, 1, 5), 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_class(name: str) -> None:
    selector = make(name)
    assert type(selector).__doc__
    assert set(selector.space) <= set(selector.get_params())
    X, y = data(60)
    for parameter, distribution in selector.space.items():
        ends = getattr(distribution, "choices", None) or (distribution.low, distribution.high)
        assert all(isinstance(distribution, Distribution) for _ in ends)
        for value in ends:
            assert make(name).set_params(**{parameter: value}).fit(X, y).transform(X).shape[0] == 60


@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_copies(name: str) -> None:
    X, y = data()
    fitted = make(name).fit(X, y)
    expected = fitted.transform(X)
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    np.testing.assert_array_equal(again.fit(X, y).transform(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), expected)
    kind = type(fitted)
    stored = skops.io.loads(skops.io.dumps(fitted), trusted=[f"{kind.__module__}.{kind.__qualname__}"])
    np.testing.assert_array_equal(stored.transform(X), expected)
    np.testing.assert_array_equal(stored.get_support(), fitted.get_support())


@pytest.mark.slow
@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_names(name: str) -> None:
    """Names go in and the names of what is kept come out; the columns kept pass unchanged."""
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"lm_{j}" if j < 4 else f"ibm1_{j}" for j in range(X.shape[1])])
    fitted = make(name).fit(frame, y)
    assert fitted.get_support().shape == (6,)
    names = fitted.get_feature_names_out()
    assert fitted.transform(frame).shape == (120, len(names))
    as_frame = make(name).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(as_frame.columns) == list(names)
    if name != "pca":
        assert list(names) == list(frame.columns[fitted.get_support()])
        np.testing.assert_array_equal(np.asarray(fitted.transform(frame)), X[:, fitted.get_support()])


@pytest.mark.slow
@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_odd_features(name: str) -> None:
    """One feature, constant features, nothing but constant features, duplicated and collinear features."""
    X, y = data()
    for odd in (
        X[:, :1],
        np.column_stack([X, np.zeros(len(y)), np.full(len(y), 7.0)]),
        np.zeros((len(y), 3)),
        np.column_stack([X, X, X[:, :1] + X[:, 1:2], -3 * X[:, :1]]),
    ):
        fitted = make(name).fit(odd, y)
        assert fitted.get_support().any()
        assert np.isfinite(fitted.transform(odd)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_odd_rows_and_labels(name: str) -> None:
    """Ten rows; constant labels; labels far out of scale change nothing but the units."""
    X, y = data(10)
    assert make(name).fit(X, y).get_support().any()
    X, y = data()
    assert make(name).fit(X, np.full(len(y), 3.0)).get_support().any()
    scaled = {"cost_aware": {"tolerance": 0.2}}
    far = make(name).set_params(**scaled.get(name, {})).fit(X, 100 * y - 1000).get_support()
    np.testing.assert_array_equal(far, make(name).fit(X, y).get_support())


@pytest.mark.parametrize("name", SELECTORS.names)
def test_contract_row_order(name: str) -> None:
    """Shuffled rows lead to the same strong features; folds may change the rest."""
    X, y = data(300)
    order = np.random.default_rng(1).permutation(len(y))
    assert make(name).fit(X[order], y[order]).get_support()[[0, 3]].all()


@given(st.integers(4, 200), st.integers(0, 1000))
@settings(max_examples=30)
def test_delta_avg_is_linear_in_the_labels(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = rng.normal(size=n), rng.normal(size=n)
    ours = position_weights(n) @ gold[np.argsort(-predicted)]
    assert ours == pytest.approx(METRICS.get("delta_avg")().score(gold, predicted), abs=1e-9)


@given(st.integers(2, 200), st.integers(2, 10))
def test_splits_hold_every_row_out_once(n: int, folds: int) -> None:
    parts = splits(n, folds, one_split=False)
    held = np.concatenate([held for _, held in parts])
    assert sorted(held.tolist()) == list(range(n))
    for train, out in parts:
        assert sorted([*train.tolist(), *out.tolist()]) == list(range(n))


def held_out(X: FloatArray, y: FloatArray, columns: list[int], parts: Any, model: Any) -> FloatArray:
    listed = []
    for train, held in parts:
        if columns:
            listed.append(model.fit(X[train][:, columns], y[train]).predict(X[held][:, columns]))
        else:
            listed.append(np.full(len(held), y[train].mean()))
    return np.concatenate(listed)


def test_forward_path_is_least_squares() -> None:
    X, y = data(90, 7)
    parts = splits(90, 4, one_split=False)
    path, taken = forward_path(X, y, parts, None), list[int]()
    for feature in (3, 5, 0, 6):
        candidates = path.candidates()
        for j in set(range(7)) - set(taken):
            np.testing.assert_allclose(
                candidates[:, j], held_out(X, y, [*taken, j], parts, LinearRegression())
            )
        path.change(feature)
        taken.append(feature)
        np.testing.assert_allclose(path.predictions, held_out(X, y, taken, parts, LinearRegression()))


def test_backward_path_is_least_squares() -> None:
    X, y = data(90, 7)
    parts = splits(90, 4, one_split=False)
    path, left = backward_path(X, y, parts, None), list(range(7))
    for feature in (1, 5, 0):
        candidates = path.candidates()
        for j in left:
            rest = [c for c in left if c != j]
            expected = held_out(X, y, rest, parts, LinearRegression())
            np.testing.assert_allclose(candidates[:, j], expected, atol=1e-5)
        path.change(feature)
        left.remove(feature)
        np.testing.assert_allclose(
            path.predictions, held_out(X, y, left, parts, LinearRegression()), atol=1e-5
        )


@pytest.mark.slow
def test_refitted_learner_takes_the_same_path() -> None:
    X, y = data()
    learner = {"kind": "ridge", "alpha": 1e-6}
    for kind in (ForwardSelection, BackwardElimination):
        fast, slow = kind().fit(X, y), kind(learner=learner).fit(X, y)
        np.testing.assert_array_equal(fast.path_, slow.path_)
    alone = [GreedyIndividual(learner=given).fit(X, y).individual_ for given in (None, learner)]
    np.testing.assert_allclose(alone[0], alone[1], atol=1e-6)


def test_greedy_sets_are_tried_with_every_combination() -> None:
    """Sets of 2, 4 and 5 of the features that do best alone, six machines each: all refitted here."""
    X, y = data(90, 5, seed=3)
    learner = {"kind": "svr_rbf", "C": 1.0, "gamma": 0.2, "epsilon": 0.1}
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.02, 0.2]}
    ours = GreedyIndividual(learner=learner, grid=grid, step=2, validation=1 / 3).fit(X, y)
    ranked = np.argsort(-ours.individual_, kind="stable")

    def mae(size: int, C: float, gamma: float) -> float:
        columns = sorted(ranked[:size])
        model = SVR(C=C, gamma=gamma, epsilon=0.1).fit(X[:60][:, columns], y[:60])
        return float(np.abs(model.predict(X[60:][:, columns]) - y[60:]).mean())

    expected = [[-mae(n, C, gamma) for C in grid["C"] for gamma in grid["gamma"]] for n in (2, 4, 5)]
    np.testing.assert_allclose(ours.joint_, expected, atol=2e-3)
    place, chosen = np.unravel_index(int(np.argmax(ours.joint_)), (3, 6))
    assert ours.get_support().sum() == (2, 4, 5)[place]
    assert ours.params_ == {"C": grid["C"][chosen // 2], "gamma": grid["gamma"][chosen % 2]}


def test_backward_elimination_is_algorithm_1() -> None:
    """The paper's loops, written out with refits."""
    X, y = data(120, 7, seed=5)
    X = np.column_stack([X, 2 * X[:, 0] + 1e-4 * X[:, 1]])
    (train, dev) = splits(120, 5, one_split=True)[0]

    def mae(columns: list[int]) -> float:
        return float(np.abs(held_out(X, y, columns, [(train, dev)], LinearRegression()) - y[dev]).mean())

    left = list(range(7))  # the last column repeats the first
    error = mae(left)
    while True:
        without = {j: mae([c for c in left if c != j]) for j in left}
        best = min(left, key=lambda j: without[j])
        if without[best] >= error:
            break
        error = without[best]
        left.remove(best)
    ours = BackwardElimination().fit(X, y)
    assert np.flatnonzero(ours.get_support()).tolist() == left
    assert -ours.score_ == pytest.approx(error, abs=1e-6)


def test_validation_holds_out_the_last_rows() -> None:
    """832 of 1,832 as Loria, 305 as SDLLW; models are fitted on the first rows alone."""
    for share, size in ((832 / 1832, 832), (305 / 1832, 305)):
        ((train, held),) = splits(1832, 5, False, share)
        assert train.tolist() == list(range(1832 - size)) and held.tolist() == list(range(1832 - size, 1832))
    X, y = data(90, 4, seed=7)
    parts = [(np.arange(60), np.arange(60, 90))]
    alone = [-float(np.abs(held_out(X, y, [j], parts, LinearRegression()) - y[60:]).mean()) for j in range(4)]
    np.testing.assert_allclose(GreedyIndividual(validation=1 / 3).fit(X, y).individual_, alone)
    assert ForwardSelection(validation=1 / 3).fit(X, y).scores_[0] == pytest.approx(max(alone))
    everything = -float(np.abs(held_out(X, y, [0, 1, 2, 3], parts, LinearRegression()) - y[60:]).mean())
    worst = BackwardElimination(validation=1 / 3).fit(X, y)
    assert worst.score_ >= everything - 1e-6


@pytest.mark.parametrize("kind", [ForwardSelection, BackwardElimination])
def test_wrappers_by_a_learner_against_brute_force(kind: type[Selector]) -> None:
    """An RBF-SVR on 60 rows, judged on 30: every step takes the best of all refits."""
    X, y = data(90, 4, seed=8)
    learner = {"kind": "svr_rbf", "C": 1.0, "gamma": 0.2, "epsilon": 0.1}
    ours = kind(learner=learner, validation=1 / 3).fit(X, y)

    def mae(columns: list[int]) -> float:
        model = SVR(C=1.0, gamma=0.2, epsilon=0.1).fit(X[:60][:, columns], y[:60])
        return float(np.abs(model.predict(X[60:][:, columns]) - y[60:]).mean())

    forward = kind is ForwardSelection
    taken: list[int] = [] if forward else [0, 1, 2, 3]
    error = np.inf if forward else mae(taken)
    while len(taken) < 4 if forward else len(taken) > 1:
        steps = [sorted({*taken} ^ {j}) for j in range(4) if (j in taken) != forward]
        best = min(steps, key=mae)
        if mae(best) >= error:
            break
        taken, error = best, mae(best)
    assert np.flatnonzero(ours.get_support()).tolist() == taken


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.2, "auto", "scale"])
@pytest.mark.parametrize("start", [forward_path, backward_path])
def test_kernels_are_updated_as_by_refitting(start: Callable[..., Path], gamma: float | str) -> None:
    """Over three folds, after two changes and one taken back; also where nothing is left."""
    X, y = data(90, 3, seed=10)
    parts = splits(90, 3, one_split=False)
    params: dict[str, Any] = {"C": 1.0, "gamma": gamma, "epsilon": 0.1, "tol": 1e-8}
    path = start(X, y, parts, {"kind": "svr_rbf", **params})
    assert isinstance(path, KernelRefit)

    def alone(taken: set[int]) -> FloatArray:
        return held_out(X, y, sorted(taken), parts, SVR(**params))

    # A prediction is a sum of 60 kernel values times at most C, rounded to single precision in some steps.
    rounding = 60 * params["C"] * 2.0**-21
    taken: set[int] = set() if start is forward_path else {0, 1, 2}
    for change in (1, 2, 2, 0):
        np.testing.assert_allclose(path.predictions, alone(taken), rtol=0, atol=rounding)
        expected = np.column_stack([alone(taken ^ {feature}) for feature in range(3)])
        np.testing.assert_allclose(path.candidates(), expected, rtol=0, atol=rounding)
        path.change(change)
        taken ^= {change}


@pytest.mark.slow
def test_subsets_are_searched_with_any_learner() -> None:
    """All 31 subsets of 5, by a model tree; the beam, wide enough, comes as far."""
    X, y = data(120, 5, seed=9)
    given: dict[str, Any] = {"learner": {"kind": "m5p"}, "validation": 0.25, "metric": "mae"}
    parts = [(np.arange(90), np.arange(90, 120))]
    subsets = [list(c) for size in range(1, 6) for c in itertools.combinations(range(5), size)]
    errors = [np.abs(held_out(X, y, s, parts, M5PRegressor()) - y[90:]).mean() for s in subsets]
    exact = SubsetSearch("exhaustive", n_jobs=2, **given).fit(X, y)
    chosen = np.flatnonzero(exact.get_support()).tolist()  # model trees drop terms: subsets can be equal
    assert errors[subsets.index(chosen)] == pytest.approx(min(errors))
    np.testing.assert_allclose(-exact.scores_, sorted(errors))
    assert SubsetSearch("beam", **given).fit(X, y).score_ == pytest.approx(exact.score_)


def test_the_second_round_adds_columns_to_what_the_first_voted_for() -> None:
    X, y = data(150, 7, seed=10)
    frame = pd.DataFrame(X, columns=[f"pos_{j}" if j > 4 else f"f{j}" for j in range(7)])
    ours = SubsetSearch(vote=16, second=["pos_*"]).fit(frame, y)
    first = SubsetSearch(vote=16).fit(X[:, :5], y)
    assert ours.first_.tolist() == [*first.get_support(), False, False]
    among = [*np.flatnonzero(first.get_support()), 5, 6]
    second = SubsetSearch().fit(X[:, among], y)
    assert np.flatnonzero(ours.get_support()).tolist() == np.array(among)[second.get_support()].tolist()
    assert ours.score_ == pytest.approx(second.score_)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["mae", "rmse", "delta_avg"])
@pytest.mark.parametrize("one_split", [False, True])
def test_exhaustive_search_is_exhaustive(metric: str, one_split: bool) -> None:
    X, y = data(80, 6, seed=2)
    parts = splits(80, 4, one_split)
    gold = y[np.concatenate([held for _, held in parts])]
    judge = METRICS.get(metric)()
    sign = 1 if judge.higher_is_better else -1
    subsets = [list(c) for size in range(1, 7) for c in itertools.combinations(range(6), size)]
    scores = [sign * judge.score(gold, held_out(X, y, s, parts, Ridge(1.0))) for s in subsets]
    ours = SubsetSearch(metric=metric, folds=4, one_split=one_split).fit(X, y)
    assert np.flatnonzero(ours.get_support()).tolist() == subsets[int(np.argmax(scores))]
    np.testing.assert_allclose(ours.scores_[:63], sorted(scores, reverse=True), atol=1e-9)


def test_long_exhaustive_search_does_not_drift() -> None:
    """2^13 subsets, two chunks and two threads: the last is as exact as the first."""
    X, y = data(100, 13, seed=3)
    X[:, 12] = X[:, 0] + 1e-3 * X[:, 12]
    ours = SubsetSearch("exhaustive", "mae", n_jobs=2, alpha=1e-3).fit(X, y)
    parts = splits(100, 5, one_split=False)
    gold = y[np.concatenate([held for _, held in parts])]
    for subset, score in zip(ours.subsets_[::8], ours.scores_[::8], strict=True):
        predicted = held_out(X, y, np.flatnonzero(subset).tolist(), parts, Ridge(1e-3))
        assert -score == pytest.approx(np.abs(predicted - gold).mean(), abs=1e-8)


def test_beam_reaches_the_exhaustive_optimum() -> None:
    X, y = data(150, 9, seed=4)
    exact, beam = SubsetSearch("exhaustive").fit(X, y), SubsetSearch("beam").fit(X, y)
    assert beam.score_ == pytest.approx(exact.score_, abs=1e-9)


def test_vote_keeps_what_most_of_the_best_have() -> None:
    X, y = data(150, 7)
    ours = SubsetSearch(vote=16).fit(X, y)
    np.testing.assert_array_equal(ours.get_support(), ours.subsets_[:16].mean(axis=0) > 0.5)


def test_correlation_pruning_keeps_the_first() -> None:
    X, y = data()
    X = np.column_stack([X, -2 * X[:, 1] + 5, np.full(len(y), 3.0)])
    assert CorrelationPruning().fit(X, y).get_support().tolist() == [True] * 6 + [False] * 2
    assert CorrelationPruning().fit(1e6 * X, y).get_support().tolist() == [True] * 6 + [False] * 2


@pytest.mark.parametrize("search", ["best_first", "greedy_stepwise"])
def test_cfs_merit(search: str) -> None:
    X, y = data(100, 6)
    X = np.column_stack([X, X[:, 0] + 0.1 * X[:, 1]])

    def merit(columns: tuple[int, ...]) -> float:
        k = len(columns)
        r = np.abs(np.corrcoef(np.column_stack([X[:, columns], y]).T))
        among = (r[:k, :k].sum() - k) / (k * (k - 1)) if k > 1 else 0.0
        return float(k * r[:k, k].mean() / np.sqrt(k + k * (k - 1) * among))

    best = max((c for s in range(1, 8) for c in itertools.combinations(range(7), s)), key=merit)
    ours = CorrelationBased(search).fit(X, y)
    kept = tuple(np.flatnonzero(ours.get_support()).tolist())
    assert ours.merit_ == pytest.approx(merit(kept))
    assert kept == best


def test_cfs_of_classes_is_wekas_on_its_iris_data() -> None:
    """Weka's CfsSubsetEval with BestFirst on iris.arff: merit .887, attributes petallength and petalwidth."""
    X, y = load_iris(return_X_y=True)
    ours = CorrelationBased(interval=1.0, locally_predictive=True).fit(X, y)
    assert ours.merit_ == pytest.approx(0.887, abs=5e-4)
    assert ours.get_support().tolist() == [False, False, True, True]


def test_cut_points_are_those_of_iris() -> None:
    """Published (R's `discretization::mdlp`, Weka's default): all but 7.05 and 5.15.

    These pay only if a cut is encoded among the distinct values instead of all rows.
    """
    X, y = load_iris(return_X_y=True)
    expected = [[5.55, 6.15, 7.05], [2.95, 3.35], [2.45, 4.75, 5.15], [0.8, 1.75]]
    for column, cuts in zip(X.T, expected, strict=True):
        assert cut_points(column, y) == pytest.approx(cuts)


@pytest.mark.parametrize(("rows", "cuts"), [(10, []), (11, [10.5, 21.5])])
def test_a_cut_must_pay_for_its_description(rows: int, cuts: list[float]) -> None:
    """Classes a, b, a, of `rows` each: H = .918 bits, of both sides .667; both terms by hand.

    Gain: 30 (.918 - .667) = 7.55 < log2(29) + log2(7) - 2 (.918) + 2 (1) = 7.83; 33 rows: 8.30 > 7.97.
    """
    assert cut_points(np.arange(3.0 * rows), np.repeat([0.0, 1.0, 0.0], rows)) == cuts


def test_symmetrical_uncertainty_is_normalised_mutual_information() -> None:
    codes = np.random.default_rng(0).integers(0, [2, 3, 5, 1], size=(60, 4))
    ours = uncertainties(codes)
    for i, j in itertools.combinations(range(3), 2):
        theirs = normalized_mutual_info_score(codes[:, i], codes[:, j])
        assert [ours[i, j], ours[j, i]] == pytest.approx([theirs, theirs])
    np.testing.assert_allclose(ours.diagonal(), [1, 1, 1, 0])


def test_labels_are_rounded_to_classes_halves_up() -> None:
    X, y = data(120)
    wanted = CorrelationBased(interval=1.0).fit(X, np.floor(y / 0.5 + 0.5))
    ours = CorrelationBased(interval=0.5).fit(X, y)
    assert ours.merit_ == wanted.merit_ and (ours.get_support() == wanted.get_support()).all()


def test_locally_predictive_features_join() -> None:
    """The second lowers the merit, but is correlated with the first less than with the label."""
    rng = np.random.default_rng(1)
    first, second, copy = rng.normal(size=(3, 400))
    y = 3 * first + 0.5 * second + 0.3 * rng.normal(size=400)
    X = np.column_stack([first, second, first + 0.05 * copy, rng.normal(size=400)])
    X[:, 1] += 0.08 * first
    alone, joined = CorrelationBased().fit(X, y), CorrelationBased(locally_predictive=True).fit(X, y)
    assert alone.get_support().tolist() == [True, False, False, False]
    assert joined.get_support()[:3].tolist() == [True, True, False] and joined.merit_ == alone.merit_


def test_pca_is_scikit_learns() -> None:
    X, y = data(60, 5)
    for components, whiten in ((3, False), (0.7, True)):
        ours = PrincipalComponents(components, whiten).fit(X, y)
        theirs = PCA(components, whiten=whiten, svd_solver="full").fit(X)
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    assert ours.get_feature_names_out()[0] == "pc0"


def test_fold_frequency_counts() -> None:
    X, y = data(120)
    ours = FoldFrequency({"kind": "cfs"}, folds=4, frequency=0.75).fit(X, y)
    kept = [
        CorrelationBased().fit(X[train], y[train]).get_support()
        for train, _ in splits(120, 4, one_split=False)
    ]
    np.testing.assert_array_equal(ours.get_support(), np.sum(kept, axis=0) >= 3)


def test_family_by_pattern() -> None:
    X, y = data(20, 4)
    frame = pd.DataFrame(X, columns=["lm_src", "lm_tgt", "ibm1", "len"])
    assert Family(["lm_*", "len"], ["*_tgt"]).fit(frame, y).get_support().tolist() == [
        True,
        False,
        False,
        True,
    ]


def test_groups_are_switched_off_by_name() -> None:
    X, y = data(20, 4)
    frame = pd.DataFrame(X, columns=["lm_src", "lm_tgt", "ibm1", "len"])
    groups = {"lm": ["lm_*"], "rest": ["ibm1", "len"]}
    assert Groups(groups).fit(frame, y).get_support().all()
    without = Groups(groups, {"lm": False, "rest": True}).fit(frame, y)
    assert frame.columns[without.get_support()].tolist() == ["ibm1", "len"]
    assert Groups({"lm": ["lm_*"]}, {"lm": False}).fit(frame, y).get_support().sum() == 2


def test_cost_aware_front() -> None:
    """The cheap twin of an expensive feature is preferred; the front rises in cost and in the metric."""
    rng = np.random.default_rng(0)
    X, y = data(300, 6)
    X[:, 5] = X[:, 0] + 0.05 * rng.normal(size=300)
    frame = pd.DataFrame(X, columns=["slow_0", "fast_1", "fast_2", "fast_3", "slow_4", "fast_5"])
    ours = CostAware({"slow_*": 1000.0, "fast_*": 10.0}, tolerance=0.02).fit(frame, y)
    assert frame.columns[ours.get_support()].tolist() == ["fast_3", "fast_5"]
    assert (np.diff(ours.front_[:, 0]) > 0).all()
    assert (np.diff(ours.front_[:, 1]) > 0).all()
    exact = CostAware({"slow_*": 1000.0, "fast_*": 10.0}, tolerance=0.0).fit(frame, y)
    assert exact.front_[0, 0] == 10.0
    assert CostAware({"slow_*": 1000.0}, budget=5.0).fit(frame, y).get_support()[[0, 4]].sum() == 0


def test_ranking_metric_follows_the_label_direction() -> None:
    X, y = data(150)
    up = ForwardSelection(metric="delta_avg").fit(X, y)
    down = ForwardSelection(metric="delta_avg", label_sign=-1.0).fit(X, -y)
    np.testing.assert_array_equal(up.path_, down.path_)
