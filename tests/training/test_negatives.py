"""Spoilt rows that the learner sees: made of a fold's training rows, with the worst label, never held out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.core.segments import Segments
from features.surface import Surface
from qe.config.experiment import NegativesSection
from qe.data.dataset import LabelScale
from qe.data.perturbation import names
from qe.learning.clipping import ClippingImputer
from qe.models.model import Model
from qe.training.auxiliary import Negatives
from qe.training.check import check
from qe.training.fitting import fit_model
from qe.training.preparation import Prepared, prepare
from tests.training.several import made, searched, section, write_three

DA, HTER = LabelScale("da", None, None, True), LabelScale("hter", 0.0, 1.0, False)
SPOILT = {"share": 0.3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_three(tmp_path)
    return tmp_path


def ready(folder: Path, **more: Any) -> Prepared:
    return prepare(check(made(folder, section("first.tsv"), **more)), folder / "cache")


@pytest.mark.slow
def test_the_fold_is_ridge_regression_on_real_and_spoilt_rows(folder: Path) -> None:
    """Against scikit-learn: the spoilt rows are of the fold's training rows, with their worst label."""
    prepared = ready(folder, negatives={"share": 0.3, "kinds": ["three_times", "shuffled"]})
    train, held_out = prepared.first_folds[0]
    (tables,) = prepared.folds_of([prepared.first_folds[0]])
    (added,) = tables.added
    assert len(added.rows) == 12  # .3 of 40 training rows
    texts = [prepared.training.segments.target[i] for i in train]
    spoilt = [text for text in (texts[row] for row in added.rows[:6].tolist())]
    thrice = Surface().extract(
        Segments.from_columns({"source": spoilt, "target": [" ".join([t] * 3) for t in spoilt]})
    )
    names = [f.name for f in Surface().features]
    np.testing.assert_array_equal(
        added.table["tokens_target"].to_numpy()[:6], thrice[:, names.index("tokens_target")]
    )
    y = np.concatenate([prepared.scores[train], np.full(12, prepared.scores[train].min())])
    rows = pd.concat([tables.train, added.table])
    whole = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler(), Ridge(alpha=10)
    )
    expected = whole.fit(rows, y).predict(tables.test)
    objective = searched(prepared).objective
    candidate = searched(prepared).best
    predicted = objective.folds[0].predict(candidate, prepared.dataset.scale, 0)
    np.testing.assert_allclose(predicted, expected, atol=1e-8)
    assert objective.folds[0].n_added == 12 and len(objective.folds[0].rows) == len(held_out)


@pytest.mark.slow
def test_families_that_learn_from_labels_do_not_see_them(folder: Path) -> None:
    with_rubbish = ready(folder, features=["surface", "bag_of_words"], negatives=SPOILT)
    without = ready(folder, features=["surface", "bag_of_words"])
    pairs = (each.folds_of(each.first_folds) for each in (with_rubbish, without))
    for one, other in zip(*pairs, strict=True):
        pd.testing.assert_frame_equal(one.train, other.train)
        pd.testing.assert_frame_equal(one.test, other.test)
    pd.testing.assert_frame_equal(with_rubbish.training_table(), without.training_table())
    assert len(with_rubbish.learned_rows().scores) > len(without.learned_rows().scores) == 60


def test_rows_made_of_held_out_rows_are_left_out(folder: Path) -> None:
    prepared = ready(folder, negatives=SPOILT)
    added = prepared.folds_of([prepared.first_folds[0]])[0].added[0]
    assert isinstance(added.origin, Negatives)
    held_out = Segments.from_columns({"source": added.sources[:1], "target": added.sources[:1]})
    kept = added.excluding(held_out)
    assert len(kept.rows) < len(added.rows) and len(kept.table) == len(kept.rows)
    assert not set(kept.sources) & set(held_out.source)


def test_the_worst_label_has_a_direction() -> None:
    gold = np.array([0.2, 0.9])
    made = Negatives(NegativesSection(share=0.5), HTER, 3)
    assert made.labels(np.arange(3), gold).tolist() == [0.9] * 3
    assert replace(made, scale=DA).labels(np.arange(3), gold).tolist() == [0.2] * 3


def test_all_destroying_ways_are_taken_alike_and_the_same_each_time(folder: Path) -> None:
    segments = ready(folder).training.segments
    spoilt, rows = Negatives(NegativesSection(share=0.5), DA, 3).perturbed(segments)
    kinds = [name.rsplit(" ", 1)[0] for name in spoilt.id]
    assert set(kinds) <= set(names("destroying")) and len(set(kinds)) > 10 and len(rows) == len(spoilt)
    assert Negatives(NegativesSection(share=0.5), DA, 3).perturbed(segments)[0].target == spoilt.target
    assert Negatives(NegativesSection(share=0.5), DA, 4).perturbed(segments)[0].target != spoilt.target


def test_columns_are_cut_at_quantiles_of_the_rows_learned_from() -> None:
    table = pd.DataFrame(
        {"a": np.arange(101.0), "gaps": [np.nan] * 50 + [0.0, 1.0, 2.0] * 17, "none": np.nan}
    )
    imputer = ClippingImputer(0.1).set_output(transform="pandas").fit(table)
    cut = imputer.transform(
        pd.DataFrame({"a": [-9.0, 50.0, 999.0], "gaps": [np.nan, -5.0, 1.5], "none": 7.0})
    )
    assert cut["a"].tolist() == [10, 50, 90] and cut["gaps"].tolist() == [1, 0, 1.5]
    assert np.isfinite(cut["none"]).all()


@pytest.mark.slow
def test_a_model_with_both_is_saved_and_scores_the_same(folder: Path) -> None:
    prepared = ready(folder, negatives=SPOILT, clip=0.05)
    best = searched(prepared).best
    assert best.settings()["clip"] == 0.05
    model = fit_model(prepared, best)
    model.save(folder / "model")
    segments = prepared.training.segments
    assert (Model.load(folder / "model").predict(segments) == model.predict(segments)).all()
    wild = Segments.from_columns({"source": ["a house"], "target": ["a . " * 500]}, *model.tokenizers)
    plain = fit_model(ready(folder), searched(ready(folder)).best)
    clipped = replace(model, limits=None).predict(wild)
    assert abs(clipped[0]) < abs(replace(plain, limits=None).predict(wild)[0])
