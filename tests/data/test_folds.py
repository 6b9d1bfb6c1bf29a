"""Folds: every row held out once, neighbours and documents together; segments that are there twice."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from features import Segments, Tokenizer
from qe.data import Split
from qe.data.folds import groups_of, leaks, make_folds, overlaps
from tests.factories import ran, refuses


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
    documents = ("a", "b", "a", "c", "b", "c", "d")
    pairs = ("en-de", "ne-en", "en-de", "en-de", "ne-en", "ne-en", "en-de")
    segments = Segments(documents, documents, doc_id=documents, language_pair=pairs)
    assert groups_of(segments, "document") == documents and groups_of(segments, "language_pair") == pairs
    for train, test in make_folds(7, 2, scheme="document", documents=documents):
        assert {documents[i] for i in train}.isdisjoint({documents[i] for i in test})


def split(*pairs: tuple[str, str]) -> Split:
    columns = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    segments = Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))
    return Split(segments, np.arange(len(pairs), dtype=np.float64))


TRAIN = split(("a b", "c"), ("a b", "d"), ("e", "f"), ("g", "h"))


def test_what_splits_share() -> None:
    test = split(("A, b!", "C"), ("e", "z"), ("y", "h"), ("new", "nuevo"))
    assert overlaps({"train": TRAIN, "test": test}) == {
        ("test", "train"): {"source": 2, "target": 2, "pair": 1}
    }
    unequal: Any = SimpleNamespace(segments=SimpleNamespace(source=("a",), target=("b", "c")))
    refuses("zip", overlaps, {"train": TRAIN, "test": unequal}, error=ValueError)
    (warnings,) = leaks(TRAIN, {"test": test, "other": split(("x", "y"))}, [])
    assert warnings.startswith("1 of the 4 pairs of 'test' are training rows, too")


def test_rows_that_are_repeated_across_folds() -> None:
    """Rows 0 and 2 are equal, 1 and 3; a fold that holds both of a pair leaks nothing."""
    rows = split(("a", "b"), ("c", "d"), ("A", "b."), ("c", "d"), ("e", "f"), ("g", "h"))

    def warnings(*test_rows: list[int]) -> tuple[str, ...]:
        folds = [(np.setdiff1d(np.arange(6), fold), np.array(fold)) for fold in test_rows]
        return leaks(rows, {}, folds)

    assert warnings([0, 2], [1, 3], [4, 5]) == ()
    assert warnings([0, 1], [2, 4], [3, 5])[0].startswith(
        "4 of the 6 training rows have an equal pair in another fold"
    )
    assert warnings([0, 2], [1, 4], [3, 5])[0].startswith("2 of the 6 training rows")
    assert leaks(TRAIN, {}, make_folds(4, 2, seed=1)) == ()
    assert leaks(rows, {}, [(np.arange(6), np.array([4]))]) == ()  # a row is no copy of itself


@pytest.fixture
def repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """100 of 100 test pairs are training rows, and every training row is there twice."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(1)
    rows = [(f"s {i} {'x ' * (i % 7)}", f"t {i}", f"{draws.uniform(1, 5):.2f}") for i in range(100)]
    for name, some in (("train", rows * 2), ("test", rows)):
        for ending, texts in zip(("s", "t", "y"), zip(*some, strict=True), strict=True):
            (tmp_path / f"{name}.{ending}").write_text("\n".join(texts) + "\n")
    splits = {
        name: {"source": f"{name}.s", "target": f"{name}.t", "scores": f"{name}.y"}
        for name in ("train", "test")
    }
    label = {"name": "score", "low": 1, "high": 5, "higher_is_better": True}
    dataset = {"format": "parallel_text", "path": ".", "label": label, "splits": splits}
    settings = {
        "name": "leaky", "dataset": {**dataset, "source_language": "en", "target_language": "es"},
        "features": ["surface"], "learner": {"kind": "ridge"}, "search": {"trials": 1}, "guard": False,
        "split": {"folds": 4}, "evaluation": {"metric": "mae", "samples": 100},
    }  # fmt: skip
    (tmp_path / "leaky.yaml").write_text(json.dumps(settings))
    return tmp_path


@pytest.mark.slow
def test_training_says_what_its_figures_are_of(repeated: Path) -> None:
    told = ran("train", repeated / "leaky.yaml", "--output", repeated / "out").out
    report = json.loads((repeated / "out" / "report.json").read_text())
    warnings: list[str] = report["data"]["leaks"]
    assert warnings[0].startswith("100 of the 100 pairs of 'test' are training rows, too")
    shared = re.match(r"(\d+) of the 200 training rows have an equal pair in another fold", warnings[1])
    assert shared is not None and 120 < int(shared[1]) < 180  # a copy is in the same one of 4 folds in .25
    ran("report", repeated / "out", "--output", repeated / "run.html")
    page, shown = (repeated / "run.html").read_text().replace("&#39;", "'"), " ".join(told.split())
    assert all(sentence in page and sentence in shown for sentence in warnings)


def test_the_check_of_the_data_has_a_defect(repeated: Path) -> None:
    out = ran("data", "check", str(repeated / "leaky.yaml"), code=1).out
    assert "no defects" not in out
    assert "test: 100 of 100 pairs of source and target are in train, too" in out
