"""Explanations add up to the score, and are those of closed forms and of the definition of Shapley values."""

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import Extractor, Feature, FeatureSet, Segments, Tokenizer
from features.basics.array_types import FloatArray
from qe.data import LabelScale
from qe.data.table_rows import read_rows
from qe.models import Model
from qe.models.attribution import Expansion, Sampling, shapley_values
from qe.models.explanation import Background, Explainer
from qe.models.pipeline import Candidate, fit
from qe.scoring import Options, Scorer


@dataclass(frozen=True)
class Columns(Extractor):
    """k columns that nobody computes: the tests bring the tables."""

    k: int

    @property
    def features(self) -> list[Feature]:
        return [Feature(f"f{i}", f"column {i}", "test", "") for i in range(self.k)]

    def extract(self, segments: Segments) -> FloatArray:
        return np.zeros((len(segments), self.k))


def trained(
    candidate: Candidate, table: FloatArray, gold: FloatArray, orders: int | None = None
) -> Explainer:
    features = FeatureSet(({"kind": "columns"},), (Columns(table.shape[1]),))
    pipeline = fit(candidate.pipeline(0), pd.DataFrame(table, columns=features.names), gold)
    scale = LabelScale("x", None, None, True)
    model = Model("m", candidate, pipeline, features, scale, (Tokenizer(), Tokenizer()))
    return Explainer(model, Background.make(table), orders)


def data(n: int = 200, k: int = 4, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(n, k)) * np.arange(1, k + 1)
    return table, table[:, 0] + 0.5 * table[:, 1] + table[:, 0] * table[:, 2] + generator.normal(size=n)


def frame(explainer: Explainer, rows: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=explainer.model.feature_set.names)


def shapley(explainer: Explainer, row: FloatArray, background: FloatArray) -> FloatArray:
    """By the definition: all coalitions, the other features taken from each background row."""
    k = len(row)

    def value(coalition: tuple[int, ...]) -> float:
        points = background.copy()
        points[:, coalition] = row[list(coalition)]
        return float(np.mean(explainer.model.pipeline.predict(frame(explainer, points))))

    outcome = np.zeros(k)
    for j in range(k):
        others = [i for i in range(k) if i != j]
        for size in range(k):
            weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
            for coalition in itertools.combinations(others, size):
                outcome[j] += weight * (value((*coalition, j)) - value(coalition))
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "method"),
    [
        ("ridge", "linear"),
        ("elastic_net", "linear"),
        ("svr_linear", "linear"),
        ("lightgbm", "trees"),
        ("svr_rbf", "kernel"),
        ("importance_weighted_svr", "kernel"),
        ("kernel_ridge", "kernel"),
        ("averaging", "kernel+linear+trees"),
        ("seed_averaging", "trees"),
        ("svr_poly", "sampling"),
        ("random_forest", "sampling"),
    ],
)
def test_contributions_add_up_to_the_score(learner: str, method: str) -> None:
    table, gold = data(k=6)
    explainer = trained(Candidate(learner), table, gold)
    rows = frame(explainer, table[:5])
    shares = explainer.contributions(rows)
    expected = explainer.model.pipeline.predict(rows)
    assert shares.base + shares.values.sum(axis=1) == pytest.approx(expected, abs=1e-8)
    assert shares.method == method


@pytest.mark.slow
def test_a_linear_model_is_coefficient_times_distance() -> None:
    table, _ = data()
    explainer = trained(Candidate("ridge", {"alpha": 1e-9}), table, table @ [1.0, -2.0, 0.0, 0.5])
    rows = explainer.background.rows
    outcome = explainer.contributions(frame(explainer, table[:9])).values
    assert outcome == pytest.approx((table[:9] - rows.mean(axis=0)) * [1.0, -2.0, 0.0, 0.5], abs=1e-6)
    assert outcome[0] == pytest.approx(shapley(explainer, table[0], rows), abs=1e-6)


@pytest.mark.slow
def test_selected_features_alone_contribute() -> None:
    table, gold = data(k=8)
    for learner in ("ridge", "lightgbm"):
        explainer = trained(Candidate(learner, {}, "family", {"keep": ["f0", "f1", "f2"]}), table, gold)
        values = explainer.contributions(frame(explainer, table[:20])).values
        kept = explainer.model.pipeline.named_steps["select"].get_support()
        assert kept.sum() == 3 and not values[:, ~kept].any() and values[:, kept].any(axis=0).all()


@pytest.mark.slow
def test_sampling_converges_to_the_definition() -> None:
    table, gold = data()
    explainer = trained(Candidate("svr_poly", {"C": 10.0}), table, gold)
    exact = shapley(explainer, table[0], explainer.background.rows)
    errors = []
    for orders in (4, 64, 1024):
        explainer = trained(Candidate("svr_poly", {"C": 10.0}), table, gold, orders)
        values = explainer.contributions(frame(explainer, table[:1])).values[0]
        errors.append(np.abs(values - exact).max())
    assert errors[2] < 0.05 * np.abs(exact).max() and errors[2] < errors[0]


def test_sampling_of_an_additive_model_is_exact_over_the_whole_background() -> None:
    """Without interactions every order gives the same answer, one background row at a time."""
    table, _ = data()
    slopes = np.array([1.0, -2.0, 0.0, 0.5])
    drawn = Sampling(lambda rows: rows @ slopes, table[:64], orders=64).values(table[:11])
    assert drawn == pytest.approx((table[:11] - table[:64].mean(axis=0)) * slopes, abs=1e-9)


NARROW: list[tuple[str, dict[str, Any]]] = [
    ("svr_rbf", {"C": 10.0, "gamma": 0.2}),
    ("svr_rbf", {"C": 10.0, "gamma": 5.0}),
    ("importance_weighted_svr", {"gamma_scale": 2.0, "floor": 0.0}),
    ("kernel_ridge", {"gamma": 1.0}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "params"), NARROW)
def test_kernels_are_taken_apart_as_the_definition_says(learner: str, params: dict[str, Any]) -> None:
    table, gold = data(k=5)
    explainer = trained(Candidate(learner, params), table, gold)
    shares = explainer.contributions(frame(explainer, table[:2]))
    assert shares.method == "kernel"
    for values, row in zip(shares.values, table, strict=False):
        assert values == pytest.approx(shapley(explainer, row, explainer.background.rows), abs=1e-8)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 12), width=st.floats(0.05, 50.0))
@settings(max_examples=40)
def test_shapley_values_of_kernels_obey_the_axioms(seed: int, k: int, width: float) -> None:
    """They add up; what does not matter gets nothing; features that are alike get alike."""
    generator = np.random.default_rng(seed)
    centres, rows, background = (generator.normal(size=(n, k)) for n in (40, 3, 5))
    for table in (centres, rows, background):
        table[:, 1] = table[:, 0]
    rates = generator.uniform(0, 1, k) / width**2
    rates[1], rates[2:3] = rates[0], 0.0
    model = Expansion(centres, generator.normal(size=40), rates, 0.7)
    values, nodes = shapley_values(model, rows, background)
    total = model.predict(rows) - model.predict(background).mean()
    assert values.sum(axis=1) == pytest.approx(total, abs=1e-7)
    assert values[:, 0] == pytest.approx(values[:, 1], abs=1e-12)
    assert not values[:, 2:3].any() and nodes.max() <= (k + 1) // 2


def test_what_is_far_from_all_centres_is_taken_apart_too() -> None:
    centres, background = np.zeros((1, 3)), np.zeros((1, 3))
    model = Expansion(centres, np.ones(1), np.ones(3), 0.0)
    values, _ = shapley_values(model, np.array([[1e3, 1e3, 0.0], [40.0, 0.0, 0.0]]), background)
    assert values == pytest.approx(np.array([[-0.5, -0.5, 0.0], [-1.0, 0.0, 0.0]]), abs=1e-9)


@pytest.mark.slow
def test_a_combination_is_explained_by_the_combination_of_its_members() -> None:
    table, gold = data(k=6)
    members = [{"kind": kind} for kind in ("svr_rbf", "elastic_net", "lightgbm")]
    weights = [2.0, 1.0, 1.0]
    both = trained(Candidate("averaging", {"members": members, "weights": weights}), table, gold)
    shares = both.contributions(frame(both, table[:4]))
    alone = []
    for member in members:
        params = {"members": [member]}  # an ensemble of one: LightGBM by itself sees other scales
        alone.append(
            trained(Candidate("averaging", params), table, gold).contributions(frame(both, table[:4]))
        )
    expected = sum(w / 4 * one.values for w, one in zip(weights, alone, strict=True))
    assert shares.values == pytest.approx(expected, abs=1e-10)
    assert shares.base == pytest.approx(sum(w / 4 * one.base for w, one in zip(weights, alone, strict=True)))
    assert [one.method for one in alone] == ["kernel", "linear", "trees"]


@pytest.mark.slow
def test_members_of_no_known_form_are_sampled_and_the_others_stay_exact() -> None:
    table, gold = data(k=5)
    nested = {"kind": "averaging", "members": [{"kind": "ridge"}, {"kind": "svr_poly"}]}
    explainer = trained(Candidate("averaging", {"members": [{"kind": "svr_rbf"}, nested]}), table, gold, 512)
    shares = explainer.contributions(frame(explainer, table[:2]))
    assert shares.method == "kernel+linear+sampling"
    assert shares.base + shares.values.sum(axis=1) == pytest.approx(
        explainer.model.pipeline.predict(frame(explainer, table[:2])), abs=1e-8
    )
    exact = shapley(explainer, table[0], explainer.background.rows)
    assert shares.values[0] == pytest.approx(exact, abs=0.05 * np.abs(exact).max())


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["svr_rbf", "svr_poly", "averaging"])
def test_explanations_do_not_depend_on_the_batch_and_repeat(learner: str) -> None:
    table, gold = data()
    explainer = trained(Candidate(learner), table, gold, 8)
    values = explainer.contributions(frame(explainer, table[:12])).values
    alone = [explainer.contributions(frame(explainer, table[i : i + 1])).values[0] for i in range(12)]
    assert values.tolist() == [row.tolist() for row in alone]
    whole = explainer.because(frame(explainer, table[:12]), 3)
    assert whole == [explainer.because(frame(explainer, table[i : i + 1]), 3)[0] for i in range(12)]
    again = trained(Candidate(learner), table, gold, 8)
    assert whole == again.because(frame(again, table[:12]), 3)


def test_words_name_the_largest_first() -> None:
    table, _ = data()
    explainer = trained(Candidate("ridge", {"alpha": 1e-9}), table, table @ [1.0, -2.0, 0.0, 0.5])
    typical = np.median(table, axis=0)
    row = explainer.background.rows.mean(axis=0) + np.array([1.0, 2.0, 5.0, 0.0])
    (text,) = explainer.because(frame(explainer, row[None]), 2)
    assert text == (
        f"column 1 {row[1]:.4g} (usually {typical[1]:.4g}): -4.00; "
        f"column 0 {row[0]:.4g} (usually {typical[0]:.4g}): +1.00"
    )
    (plain,) = explainer.because(frame(explainer, explainer.background.rows.mean(axis=0)[None]), 2)
    assert plain == "nothing in particular"
    row[1] = np.nan
    assert "column 1 undefined (usually" in explainer.because(frame(explainer, row[None]), 4)[0]


def test_features_of_one_phrase_are_one_cause() -> None:
    @dataclass(frozen=True)
    class Wording(Columns):
        plain: ClassVar[str] = "how usual the wording is"

    table, _ = data()
    alone = trained(Candidate("ridge", {"alpha": 1e-9}), table, table @ [1.0, -2.0, 0.0, 0.5])
    features = FeatureSet(({"kind": "columns"},), (Wording(4),))
    together = replace(alone, model=replace(alone.model, feature_set=features))
    row = frame(alone, table[:1])
    total = alone.contributions(row).values.sum()
    assert together.because(row, 3) == [f"how usual the wording is: {total:+.2f}"]


def test_background_is_saved_without_pickle(tmp_path: Path) -> None:
    table, _ = data()
    table[:, 3] = np.nan
    saved = Background.make(table, 3)
    saved.save(tmp_path)
    loaded = Background.load(tmp_path)
    assert np.array_equal(loaded.rows, saved.rows, equal_nan=True) and loaded.rows.shape == (64, 4)
    assert np.array_equal(loaded.typical, [*np.median(table[:, :3], axis=0), np.nan], equal_nan=True)


def test_scoring_explains(demo_model: Path) -> None:
    rows = [(dict(c), "") for c, _ in read_rows(demo_model.parent / "data" / "new.tsv")][:4]
    scorer = Scorer.load(demo_model, Options(explain=2))
    outputs = scorer.score([*rows, ({"source": "", "target": "b"}, "")]).rows
    assert list(scorer.options.columns) == ["id", "score", "because", "reason"]
    assert all(len(output["because"].split("; ")) == 2 for output in outputs[:4])
    assert "usual the wording of the translation is" in str(outputs) and "log" not in str(outputs[0])
    assert outputs[4]["because"] is None and outputs[4]["reason"] == "empty source"
