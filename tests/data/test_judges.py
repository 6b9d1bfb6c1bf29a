"""Several judges: the official labels of WMT12, rules by hand, agreement against published figures."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.data.format import FORMATS
from qe.data.judges import judge_weights, judged_labels, krippendorff_alpha, weighted_kappa
from tests.factories import Find, ran


def test_official_labels_to_the_printed_digit(shared_data: Find) -> None:
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]
    assert train.judges is not None and train.scores is not None
    labels = judged_labels(train.judges, None)
    np.testing.assert_array_equal(np.round(labels.scores, 1), train.scores)
    np.testing.assert_allclose(labels.weights, [2 / 6, 1 / 6, 3 / 6])


def test_the_papers_exclusion_is_not_in_the_published_scores(shared_data: Find) -> None:
    """By section 6.1, differences above 1 were dropped; 284 of the 1,832 published rows differ by 2."""
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]
    assert train.judges is not None and train.scores is not None
    labels = judged_labels(train.judges)
    assert labels.excluded.sum() == 284 and np.nanmax(labels.differences) == 2
    kept = ~labels.excluded
    np.testing.assert_array_equal(np.round(labels.scores[kept], 1), train.scores[kept])
    assert np.isnan(labels.scores[labels.excluded]).all()


def test_weights_are_ranks_of_standard_deviations() -> None:
    judges = np.array([[1.0, 3, 2], [5, 3, 4], [1, 4, 2]])
    np.testing.assert_allclose(judge_weights(judges), np.array([3, 1, 2]) / 6)
    np.testing.assert_allclose(judge_weights(judges[:, [0, 0, 1]]), np.array([2.5, 2.5, 1]) / 6)  # ties share


def test_a_missing_score_leaves_its_weight_to_the_others() -> None:
    judges = np.array([[1.0, 3, 2], [5, 3, 4], [1, np.nan, 2], [np.nan, np.nan, np.nan]])
    labels = judged_labels(judges, None)
    assert labels.scores[2] == pytest.approx((3 * 1 + 2 * 2) / 5) and np.isnan(labels.scores[3])
    assert not labels.excluded[3] and np.isnan(labels.differences[3])


def test_labels_by_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "scores").write_text("1\t2\t1\n3\t3\t3\n5\t4\t4\n1\t5\t2\n")
    out = ran("labels", "--judges", tmp_path / "scores", "--json", "-o", tmp_path / "out.tsv").out
    judges = json.loads(out)["judges"]
    assert judges["segments"] == 4 and judges["excluded"] == 1
    table = pd.read_csv(tmp_path / "out.tsv", sep="\t")
    np.testing.assert_allclose(table["label"], [7 / 6, 3, 4.5, np.nan])
    assert table["excluded"].tolist() == [False, False, False, True]
    assert "--target" in ran("labels", code=2).err
    (tmp_path / "scores").write_text("1 2\n1 x\n")
    assert "scores:2: " in ran("labels", "--judges", tmp_path / "scores", code=2).err


# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, twelve units.
NAN = np.nan
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_equals_the_published_example(level: str, published: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(published, abs=6e-4)  # type: ignore[arg-type]


# The same paper, sections A and B: two observers of ten and of twelve units.
BINARY = [(0, 1), (1, 1), (0, 1), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (1, 0), (0, 0)]
LETTERS = zip("aabbdcccedda", "babbbccceddd", strict=True)


@pytest.mark.parametrize(
    ("pairs", "published"), [(BINARY, 0.095), ([(ord(a), ord(b)) for a, b in LETTERS], 0.692)]
)
def test_alpha_of_two_observers_equals_the_published_ones(
    pairs: list[tuple[int, int]], published: float
) -> None:
    assert krippendorff_alpha(np.array(pairs, float), "nominal") == pytest.approx(published, abs=6e-4)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_interval_alpha_of_two_judges_equals_its_closed_form(pairs: list[tuple[int, int]]) -> None:
    """1 - mean squared difference / twice the variance of all scores (Krippendorff 1970)."""
    scores = np.array(pairs, float)
    alpha = krippendorff_alpha(scores, "interval")
    if np.ptp(scores) == 0:
        assert alpha is None
    else:
        within = ((scores[:, 0] - scores[:, 1]) ** 2).mean()
        assert alpha == pytest.approx(1 - within / (2 * scores.var(ddof=1)), abs=1e-12)


def test_alpha_where_it_is_undefined() -> None:
    assert krippendorff_alpha(np.array([[1.0, NAN], [NAN, 2.0]])) is None
    assert krippendorff_alpha(np.array([[2.0, 2.0], [2.0, 2.0]])) is None
    many = np.random.default_rng(0).normal(size=(800, 2))
    assert krippendorff_alpha(many, "interval") is None  # a table of 1,600 by 1,600 scores is not made


SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@pytest.mark.slow
@given(SCORES)
def test_quadratic_kappa_equals_its_closed_form(pairs: list[tuple[int, int]]) -> None:
    """1 - mean squared difference / the one that chance gives (Cohen 1968)."""
    left, right = np.array(pairs, float).T
    by_chance = left.var() + right.var() + (left.mean() - right.mean()) ** 2
    kappa = weighted_kappa(left, right)
    if by_chance == 0:
        assert kappa is None
    else:
        assert kappa == pytest.approx(1 - ((left - right) ** 2).mean() / by_chance, abs=1e-12)


def test_linear_kappa_counts_grades_that_nobody_gave() -> None:
    left, right = np.array([1.0, 1, 5, 5]), np.array([1.0, 1, 5, 3])
    disagreement, by_chance = 2 / 4, np.abs(left[:, None] - right[None, :]).mean()
    assert weighted_kappa(left, right, "linear") == pytest.approx(1 - disagreement / by_chance)


def test_kappa_where_it_is_undefined() -> None:
    assert weighted_kappa(np.array([1.5, 2]), np.array([1.0, 2])) is None
    assert weighted_kappa(np.array([NAN]), np.array([1.0])) is None
    assert weighted_kappa(np.array([0.0, 5000]), np.array([0.0, 5000])) is None
