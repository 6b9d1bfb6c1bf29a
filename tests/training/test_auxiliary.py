"""Auxiliary training datasets: what is learned from them, and what they must not see."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, zscore
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.surface import Surface
from qe.data.dataset import LabelScale
from qe.training.auxiliary import aligned
from qe.training.check import check
from qe.training.fitting import fit_model
from qe.training.preparation import Prepared, prepare
from qe.training.reading import letters, rescaled
from tests.training.several import made, searched, section, write_three

DA, HTER = LabelScale("da", None, None, True), LabelScale("hter", 0.0, 1.0, False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_three(tmp_path)
    return tmp_path


def test_standard_labels_have_mean_and_deviation_of_the_fold() -> None:
    rng = np.random.default_rng(0)
    labels, gold = rng.uniform(0, 1, 50), rng.normal(3, 7, 80)
    scaled = rescaled(labels, HTER, gold, DA, "standard")
    np.testing.assert_allclose(zscore(scaled), -zscore(labels))
    assert (scaled.mean(), scaled.std()) == pytest.approx((gold.mean(), gold.std()))
    assert (rescaled(np.ones(5), HTER, gold, DA, "standard") == gold.mean()).all()


def test_ranked_labels_are_quantiles_of_the_fold() -> None:
    rng = np.random.default_rng(0)
    labels, gold = rng.uniform(0, 1, 60), rng.normal(3, 7, 60)
    scaled = rescaled(labels, HTER, gold, DA, "ranks")
    np.testing.assert_allclose(
        np.sort(scaled), np.sort(gold)
    )  # as many quantiles as labels: those themselves
    assert kendalltau(scaled, labels).statistic == pytest.approx(-1)


def test_labels_stay_within_the_ends_of_the_scale() -> None:
    labels, gold = np.array([0.0, 0.0, 0.0, 9.0]), np.array([0.0, 0.1, 0.2])
    assert rescaled(labels, DA, gold, HTER, "standard").min() == 0


def test_labels_of_the_same_kind_can_be_taken_as_they_are() -> None:
    labels = np.array([0.1, 0.2])
    assert (rescaled(labels, HTER, labels, HTER, "none") == labels).all()


def test_aligned_columns_have_the_moments_of_the_others() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(0, 1, 9), "same": 1.0, "none": np.nan, "gaps": [np.nan, *range(8)]})
    own = pd.DataFrame({"a": rng.normal(5, 1.2, 7), "same": 4.0, "none": 2.0, "gaps": rng.normal(1, 2, 7)})
    own["wide"], table["wide"] = rng.normal(0, 50, 7), rng.normal(0, 1, 9)
    moved = aligned(table, own)
    for column in ("a", "gaps"):
        np.testing.assert_allclose(moved[column].mean(), own[column].mean())
        np.testing.assert_allclose(moved[column].std(ddof=0), own[column].std(ddof=0))
    assert moved["wide"].std(ddof=0) == pytest.approx(2 * table["wide"].std(ddof=0))
    assert (moved["same"] == 4).all() and moved["none"].isna().all() and np.isnan(moved["gaps"].iloc[0])


def test_texts_without_letters_are_compared_as_they_are() -> None:
    assert letters("...") != letters("?") and letters("Über-Bau") == letters("über bau")


@pytest.mark.slow
def test_the_fold_is_ridge_regression_on_both(folder: Path) -> None:
    """Against scikit-learn: standardised columns, weights, labels put on the fold's scale."""
    other = section("spanish.tsv", target="es", weight=0.25)
    prepared = prepare(check(made(folder, section("first.tsv"), other)), folder / "cache")
    objective = searched(prepared).objective
    fold, (train, held_out) = objective.folds[0], prepared.first_folds[0]
    (auxiliary,) = prepared.auxiliaries
    own = Surface().extract(prepared.training.segments)
    rows = np.vstack([own[train], Surface().extract(auxiliary.split.segments)])
    gold, labels = prepared.scores[train], auxiliary.split.scores
    assert labels is not None
    y = np.concatenate([gold, gold.mean() + gold.std() * zscore(labels)])
    whole = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    filled = whole.fit_transform(rows)
    asked = whole.transform(own[held_out])
    weights = np.repeat([1, 0.25], [len(train), len(labels)])
    expected = Ridge(alpha=10).fit(filled, y, sample_weight=weights).predict(asked)
    predicted = fold.predict(prepared_candidate(prepared), prepared.dataset.scale, 0)
    np.testing.assert_allclose(predicted, expected, atol=1e-8)


def prepared_candidate(prepared: Prepared) -> Any:
    return searched(prepared).best


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_segments_that_repeat_never_cross_a_fold(folder: Path, together: bool) -> None:
    other = section("other.tsv", higher=False, together=together)
    prepared = prepare(check(made(folder, section("first.tsv"), other)), folder / "cache")
    (auxiliary,) = prepared.auxiliaries
    assert len(auxiliary.split) == (30 if together else 50)
    source = dict(zip(auxiliary.split.segments.id, auxiliary.split.segments.source, strict=True))
    objective = searched(prepared).objective
    for fold, (_, held_out) in zip(objective.folds, prepared.first_folds, strict=True):
        known = {letters(text) for text in prepared.training.segments.take(held_out).source}
        learned = fold.train.index[len(fold.train) - fold.n_added :]
        assert not known & {letters(source[name]) for name in learned}
        assert fold.n_added == (30 if together else 50 - sum(row < 20 for row in held_out))


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_labels_that_are_held_out_reach_nothing(folder: Path, together: bool) -> None:
    """With other labels of the rows held out, the predictions of these rows are the same to the last bit."""
    other = section("other.tsv", higher=False, together=together, scaling="ranks", weight=0.5, align=True)
    experiment = made(folder, section("first.tsv"), other, features=["surface", {"kind": "bag_of_words"}])
    prepared = prepare(check(experiment), folder / "cache")
    _, held_out = prepared.first_folds[1]
    changed = prepared.scores.copy()
    changed[held_out] = np.random.default_rng(5).normal(100, 50, len(held_out))
    again = replace(prepared, training=replace(prepared.training, scores=changed))
    first, second = (searched(each).objective.folds for each in (prepared, again))
    candidate = prepared_candidate(prepared)
    one, two = (folds[1].predict(candidate, prepared.dataset.scale, 0) for folds in (first, second))
    assert (one == two).all()
    assert (first[0].predict(candidate, prepared.dataset.scale, 0)
            != second[0].predict(candidate, prepared.dataset.scale, 0)).any()  # fmt: skip


@pytest.mark.slow
def test_the_model_learns_from_all_of_them(folder: Path) -> None:
    """Its fitted families learn from both datasets where they are learned from together."""
    other = section("other.tsv", higher=False, together=True)
    experiment = made(folder, section("first.tsv"), other, features=[{"kind": "bag_of_words"}])
    prepared = prepare(check(experiment), folder / "cache")
    assert len(prepared.fitting.split) == 90 and len(prepared.training_table()) == 60
    rows = prepared.learned_rows()
    assert len(rows.table) == len(rows.scores) == 90 and rows.n_added == 30 and rows.weights is None
    model = fit_model(prepared, prepared_candidate(prepared))
    gold = prepared.scores
    assert np.corrcoef(model.predict(prepared.training.segments), gold)[0, 1] > 0.8
