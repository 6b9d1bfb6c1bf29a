"""Labels from several judges: the official labels of WMT12, and the rules by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.data.format import FORMATS
from qe.data.judges import judge_weights, judged_labels
from tests.factories import Find, ran, refuses


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


def test_what_cannot_be_used() -> None:
    refuses("two judges or more", judged_labels, np.ones((3, 1)))
    with pytest.raises(
        InputError, match="differ by more than 1.0 on every segment; allow larger differences"
    ):
        judged_labels(np.array([[1.0, 3.0]]))


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "scores").write_text("1\t2\t1\n3\t3\t3\n5\t4\t4\n1\t5\t2\n")
    out = ran("labels", "--judges", tmp_path / "scores", "--json", "-o", tmp_path / "out.tsv").out
    judges = json.loads(out)["judges"]
    assert judges["segments"] == 4 and judges["excluded"] == 1
    table = pd.read_csv(tmp_path / "out.tsv", sep="\t")
    np.testing.assert_allclose(table["label"], [7 / 6, 3, 4.5, np.nan])
    assert table["excluded"].tolist() == [False, False, False, True]
    assert "give --target" in ran("labels", code=2).err
    (tmp_path / "scores").write_text("1 2\n1 x\n")
    assert "scores:2: the score is not a number" in ran("labels", "--judges", tmp_path / "scores", code=2).err
