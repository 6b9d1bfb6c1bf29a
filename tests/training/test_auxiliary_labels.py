"""HTER mixed into the label that is learned: by closed forms, and never by what is held out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import zscore

from features.basics.array_types import FloatArray
from qe.config import experiment
from qe.training.auxiliary_labels import WEIGHTS, AuxiliaryLabels
from qe.training.check import check
from qe.training.fitting import fit_model
from qe.training.preparation import Prepared, prepare
from qe.training.search import gathered
from qe.training.train import train
from tests.training import several
from tests.training.several import searched, section

WORDS = ("house", "tree", "red", "green", "walks", "sings", "the", "a", "never", "often")
ROWS, NOISE = 120, 8.0


def wrong_words(n: int) -> int:
    return n * (n - 3) // 20


def write_rows(
    folder: Path, *, label: str = "noisy", file: str = "rows.tsv", changed: int | None = None
) -> None:
    """A greater share of the words is wrong, the longer the text; post-edits are right.

    `label`: minus that share with much noise (`noisy`), minus the number of letters (`letters`), or HTER.
    `changed`: the row whose label and post-edit are others.
    """
    rng = np.random.default_rng(1)
    lines = ["source\ttarget\tpost_edit\tscore\tannotators\thter"]
    for row in range(ROWS):
        target = rng.choice(WORDS, rng.integers(4, 18)).tolist()
        wrong = np.arange(len(target)) < wrong_words(len(target))
        edited = [f"{word}x" if bad else word for word, bad in zip(target, wrong, strict=True)]
        rate, noise = wrong.sum() / len(target), rng.normal(0, NOISE)
        score = {"noisy": noise - 20 * rate, "letters": -len("".join(target)), "hter": rate}[label]
        if row == changed:
            edited, score = ["other"], 99.0
        cells = (" ".join(target[::-1]), " ".join(target), " ".join(edited), f"{score:.6f}")
        lines.append("\t".join([*cells, "3" if row % 4 else "6", f"{rate:.6f}"]))
    (folder / file).write_text("\n".join(lines) + "\n", "utf-8")


def made(folder: Path, weight: Any = 0.5, *others: Any, **more: Any) -> experiment.Experiment:
    first = section("rows.tsv")
    first["columns"] = {"scores": "score", "post_edit": "post_edit", "annotators": "annotators"}
    usual = {"name": "auxiliary", "features": ["surface", "bag_of_words"], "guard": False}
    return several.made(folder, first, *others, **{**usual, "auxiliary_labels": {"hter": weight}, **more})


def prepared(tmp_path: Path, weight: Any = 0.5, **more: Any) -> Prepared:
    return prepare(check(made(tmp_path, weight, **more)), tmp_path / "cache")


def labels_of(data: Prepared) -> AuxiliaryLabels:
    labels = data.extraction.labels
    assert labels is not None
    return labels


def rates(data: Prepared) -> FloatArray:
    """One wrong word in so many: every edit is a substitution, so that HTER is their share."""
    lengths = data.training.segments.target_tokens.lengths.tolist()
    return np.array([wrong_words(n) / n for n in lengths])


def test_labels_are_mixed_by_their_weights(tmp_path: Path) -> None:
    write_rows(tmp_path)
    data = prepared(tmp_path, 0.5)
    rows = np.arange(7, 90)
    gold, other = data.scores[rows], rates(data)[rows]
    labels, weights = data.learned(data.training, rows)
    expected = (gold + 0.5 * (gold.mean() - gold.std() * zscore(other))) / 1.5
    np.testing.assert_allclose(labels, expected)
    assert weights is None


def test_rows_that_many_judged_take_less_of_it(tmp_path: Path) -> None:
    write_rows(tmp_path)
    data = prepared(tmp_path, 0.5, weights="annotators", weight_power=2)
    labels, weights = data.learned(data.training)
    own = np.where(np.arange(ROWS) % 4, 9.0, 36.0)
    own /= own.mean()
    gold = data.scores
    other = gold.mean() - gold.std() * zscore(rates(data))
    np.testing.assert_allclose(labels, (own * gold + 0.5 * other) / (own + 0.5))
    assert weights is not None
    np.testing.assert_allclose(weights, (own + 0.5) / 1.5)


@pytest.mark.slow
def test_all_of_it_is_what_the_other_label_teaches(tmp_path: Path) -> None:
    """Ridge regression turns and stretches with its labels, in the learner and in bags of words."""
    write_rows(tmp_path)
    data, surface = prepared(tmp_path, 1e12), prepared(tmp_path, 1e12, features=["surface"])
    write_rows(tmp_path, label="hter")
    alone, plain = (prepared(tmp_path, 1, auxiliary_labels={}, **x) for x in ({}, {"features": ["surface"]}))
    models = (fit_model(x, searched(x).best) for x in (surface, plain))
    one, other = (replace(model, limits=None) for model in models)
    rows = data.training.segments
    np.testing.assert_allclose(zscore(one.predict(rows)), -zscore(other.predict(rows)), atol=1e-4)
    for tables, wanted in zip(
        data.folds_of(data.first_folds), alone.folds_of(alone.first_folds), strict=True
    ):
        bags = [name for name in tables.test.columns if name.startswith("bag_of_words")]
        assert len(bags) == 4
        one_bag, other_bag = (zscore(x.test[bags].to_numpy()) for x in (tables, wanted))
        np.testing.assert_allclose(one_bag, -other_bag, atol=1e-4)


def test_direct_assessments_are_mixed_into_hter(tmp_path: Path) -> None:
    write_rows(tmp_path)
    first = section("rows.tsv", higher=False)
    first["columns"] = {"scores": "hter", "direct_assessment": "score"}
    data = prepared(tmp_path, 0.5, dataset=first, auxiliary_labels={"da": 0.5})
    other = data.training.direct_assessment
    assert other is not None and (other < 0).any()
    gold = data.scores
    expected = (gold + 0.5 * (gold.mean() - gold.std() * zscore(other))) / 1.5
    np.testing.assert_allclose(data.learned(data.training)[0], expected)


@pytest.mark.slow
def test_a_label_that_says_little_takes_much_of_one_that_says_more(tmp_path: Path) -> None:
    write_rows(tmp_path)
    data = prepared(tmp_path, "auto")
    assert labels_of(data).weight(data.training) >= 1


@pytest.mark.slow
def test_a_label_that_features_know_takes_nothing(tmp_path: Path) -> None:
    write_rows(tmp_path, label="letters")
    data = prepared(tmp_path, "auto")
    assert labels_of(data).weight(data.training) == 0
    labels, _ = data.learned(data.training)
    np.testing.assert_allclose(labels, data.scores)


@pytest.mark.slow
def test_the_weight_is_chosen_inside_the_fold(tmp_path: Path) -> None:
    write_rows(tmp_path)
    data = prepared(tmp_path, "auto", weights="annotators")
    train_rows, held_out = data.first_folds[0]
    before = data.learned(data.training, train_rows)
    result = searched(data)
    predicted = result.objective.predictions(result.best)[0]
    changed = int(held_out[0])
    write_rows(tmp_path, changed=changed)
    again = prepare(check(made(tmp_path, "auto", weights="annotators")), tmp_path / "other cache")
    assert again.scores[changed] == 99
    after = again.learned(again.training, train_rows)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    result = searched(again)
    np.testing.assert_array_equal(predicted, result.objective.predictions(result.best)[0])


def test_few_rows_choose_nothing(tmp_path: Path) -> None:
    write_rows(tmp_path)
    data = prepared(tmp_path, "auto")
    assert labels_of(data).weight(data.training.take(np.arange(9))) == 0


@pytest.mark.slow
def test_figures_are_of_the_label_alone(tmp_path: Path) -> None:
    write_rows(tmp_path)
    report = train(check(made(tmp_path, "auto")), tmp_path / "output", cache=tmp_path / "cache").report
    data = prepared(tmp_path, "auto")
    weight = labels_of(data).weight(data.training)
    assert weight in WEIGHTS and f"of weight {weight:g}" in report["data"]["notes"][-1]
    result = searched(data)
    by_fold = result.objective.predictions(result.best)
    predicted = gathered(result.objective.folds, by_fold, len(data.first_folds))[0]
    figures = report["cross_validation"]["systems"]["auxiliary"]
    assert figures["pearson"] == pytest.approx(np.corrcoef(predicted, data.scores)[0, 1])
    assert figures["mae"] == pytest.approx(np.abs(predicted - data.scores).mean())
