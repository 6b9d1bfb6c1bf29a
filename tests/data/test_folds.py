"""Folds: every row held out once, neighbours and documents together."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from qe.data.folds import make_folds
from tests.factories import refuses


@pytest.mark.slow
@given(
    st.integers(10, 200),
    st.integers(2, 5),
    st.sampled_from(["random", "block", "document", "contiguous"]),
    st.integers(0, 9),
)
def test_every_row_is_held_out_once(n: int, folds: int, scheme: str, seed: int) -> None:
    documents = [f"d{i // 2}" for i in range(n)]
    made = make_folds(n, folds, scheme=scheme, seed=seed, block=2, documents=documents)  # type: ignore[arg-type]
    assert sorted(np.concatenate([test for _, test in made]).tolist()) == list(range(n))
    for train, test in made:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(n))


def test_as_many_units_as_folds() -> None:
    assert [test.tolist() for _, test in make_folds(3, 3, scheme="block", block=1, seed=1)] in (
        [[i], [j], [3 - i - j]] for i in range(3) for j in range(3) if i != j
    )
    held_out = [test.tolist() for _, test in make_folds(4, 2, scheme="document", documents=list("aabb"))]
    assert sorted(held_out) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("scheme", "theirs"), [("random", KFold(5, shuffle=True, random_state=3)), ("contiguous", KFold(5))]
)
def test_folds_are_scikit_learns(scheme: Any, theirs: KFold) -> None:
    expected = [test for _, test in theirs.split(np.arange(23))]
    ours = [test for _, test in make_folds(23, 5, seed=3, scheme=scheme)]
    assert all((a == b).all() for a, b in zip(ours, expected, strict=True))


@pytest.mark.parametrize(("rare", "theirs"), [(5, StratifiedKFold), (4, KFold)])
def test_classes_are_shared_out_if_each_fold_can_have_one(rare: int, theirs: Any) -> None:
    classes = np.repeat([0.0, 1.0], [rare, 30 - rare])
    expected = theirs(5, shuffle=True, random_state=3).split(np.zeros(30), classes)
    ours = make_folds(30, 5, seed=3, classes=classes)
    assert all((a == b).all() for (_, a), (_, b) in zip(ours, expected, strict=True))


def test_blocks_and_documents_stay_together() -> None:
    for _, test in make_folds(310, 5, scheme="block", block=31, seed=1):
        blocks = test // 31
        assert all((blocks == b).sum() == 31 for b in set(blocks.tolist()))
    documents = ["a", "b", "a", "c", "b", "c", "d"]
    for train, test in make_folds(7, 2, scheme="document", documents=documents):
        assert {documents[i] for i in train}.isdisjoint({documents[i] for i in test})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0, "folds": 2}, "2 folds need at least 2 segments, but there are 0"),
        ({"n": 3, "folds": 5}, "5 folds need at least 5 segments, but there are 3"),
        ({"n": 100, "folds": 5, "scheme": "block"}, "blocks of 31 segments, but there are 4"),
        ({"n": 4, "folds": 3, "scheme": "document", "documents": list("aabb")}, "documents, but there are 2"),
        ({"n": 4, "folds": 2, "scheme": "document"}, "no document ids"),
        ({"n": 4, "folds": 1}, "at least 2 folds"),
    ],
)
def test_too_few_units_is_an_error(arguments: dict, message: str) -> None:  # type: ignore[type-arg]
    refuses(message, make_folds, **arguments)
