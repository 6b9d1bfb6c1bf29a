"""The benchmarks that ask papers' tables again, on small tables of numbers."""

from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from qe.data.folds import Fold, make_folds
from tests.conftest import ROOT
from tests.factories import Capsys, script


@pytest.fixture(scope="module")
def tcd() -> ModuleType:
    return script(ROOT / "benchmarks" / "studies" / "wmt12_tcd.py")


@pytest.fixture(scope="module")
def discretised() -> ModuleType:
    return script(ROOT / "benchmarks" / "studies" / "wmt12_discretised.py")


@pytest.fixture(scope="module")
def folds() -> list[Fold]:
    return make_folds(120, 4, scheme="block", block=10)


def table(names: list[str], rows: int = 120) -> tuple[pd.DataFrame, FloatArray]:
    """Independent columns, and labels from 1 to 5 that the first and the last of them make."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, len(names)))
    scores = np.clip(3 + 0.7 * X[:, 0] - 0.7 * X[:, -1] + rng.normal(0, 0.2, rows), 1, 5)
    return pd.DataFrame(X, columns=names), scores


def test_smoreg_learns_labels_and_features_from_0_to_1(tcd: ModuleType) -> None:
    """What Weka does, done literally: C 1 and epsilon .001 on the labels brought to 0 .. 1, and back."""
    features, scores = table(["a", "b", "c"])
    X = (features - features.min()) / (features.max() - features.min())
    low, span = scores.min(), np.ptp(scores)
    weka = SVR(kernel="linear", C=1.0, epsilon=0.001, tol=1e-8).fit(X, (scores - low) / span)
    ours = tcd.pipeline("SVM", scores).set_params(svr__tol=1e-8).fit(features, scores)
    np.testing.assert_allclose(ours.predict(features), low + span * weka.predict(X), atol=1e-5)


@pytest.mark.slow
def test_linear_regression_is_least_squares_on_what_it_keeps(tcd: ModuleType) -> None:
    features, scores = table(["a", "b", "c", "d"])
    model = tcd.pipeline("Lin. Reg.", scores).fit(features, scores)
    kept = model[-1].kept_
    assert {0, 3} <= set(kept.tolist())  # those that make the labels
    design = np.column_stack([np.ones(120), features.to_numpy()[:, kept]])
    expected = design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    np.testing.assert_allclose(model.predict(features), expected, atol=1e-6)


@pytest.mark.slow
def test_cells_of_tcd(tcd: ModuleType, folds: list[Fold], capsys: Capsys) -> None:
    """Only sets with the last column, a measure, know half of what makes the labels."""
    features, scores = table([*tcd.BASELINE, "measure"])
    predictions = tcd.cells(features, scores, folds)
    assert set(predictions) == {(name, method) for name in tcd.COUNTERPART for method in tcd.METHODS}
    for method in tcd.METHODS:
        errors = [np.abs(predictions[name, method] - scores).mean() for name in ("B + M2", "B")]
        assert errors[0] < 0.8 * errors[1]
    tcd.show(scores, predictions, folds)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 12 + 4
    assert all(line.split()[:3] == ["B", "+", "M1"] for line in lines[13:])


@pytest.mark.slow
def test_a_model_never_sees_the_labels_it_is_asked_for(
    tcd: ModuleType, discretised: ModuleType, folds: list[Fold]
) -> None:
    features, scores = table(tcd.BASELINE)
    held_out = folds[1][1]
    others = scores.copy()
    others[held_out] = others[held_out][::-1]
    predictions = []
    for labels in (scores, others):
        tables = discretised.selected("#19", features, labels, folds)
        likely, expected = discretised.classified("svm", 0.5, tables, labels, folds)
        linear = discretised.regressed(discretised.REGRESSORS["Linear"], tables, labels, folds)
        svm = tcd.out_of_fold("SVM", features, labels, folds)
        predictions.append(np.stack([likely, expected, linear, svm])[:, held_out])
    np.testing.assert_array_equal(*predictions)


def test_accuracy_by_hand(discretised: ModuleType) -> None:
    """1.75 and 3.5 are halves of an interval of .5 and of 1: rounded up."""
    likely = np.array([2.0, 3.0, 4.0, 4.0])
    assert discretised.accuracy(np.array([1.75, 3.5, 3.75, 5.0]), likely, 0.5) == 50.0
    assert discretised.accuracy(np.array([1.5, 3.5, 3.5, 4.4]), likely, 1.0) == 75.0
    assert discretised.accuracy(np.array([2.8, 3.5]), np.array([0.7 * 4, 0.7 * 5]), 0.7) == 100.0


@pytest.mark.slow
def test_cells_of_dfki(discretised: ModuleType, folds: list[Fold], capsys: Capsys) -> None:
    """On a label that is linear in two columns, regression is nearer than the classes of the same width."""
    features, scores = table(["a", "b", "c"])
    tables = discretised.selected("all", features, scores, folds)
    predictions = discretised.cells(tables, scores, folds)
    for name in discretised.CLASSIFIERS:
        for interval in discretised.INTERVALS:
            classes = predictions[f"{name} {interval}"] / interval
            np.testing.assert_allclose(classes, np.round(classes), atol=1e-9)
    rmse = discretised.show("all", scores, predictions)
    assert len(rmse) == 2 * 16
    assert len(capsys.readouterr().out.splitlines()) == 2 + 16 + 3 + 6  # the paper has four trees of .25
    assert min(rmse.values()) > np.sqrt(np.mean((predictions["Linear"] - scores) ** 2))


@pytest.mark.slow
def test_selection_of_dfki_keeps_what_makes_the_labels(discretised: ModuleType) -> None:
    """A cut by minimum description length needs evidence: 600 rows have enough, 120 do not."""
    features, scores = table([*discretised.BASELINE, "x"], 600)
    folds = make_folds(600, 4, scheme="block", block=10)
    for name in ("#16", "#18", "#19"):
        for own, other in discretised.selected(name, features, scores, folds):
            assert list(own.columns) == list(other.columns)
            assert {discretised.BASELINE[0], "x"} <= set(own.columns)
    assert all(
        list(own.columns) == discretised.BASELINE
        for own, _ in discretised.selected("#2", features, scores, folds)
    )
