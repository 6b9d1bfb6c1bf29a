"""What `qe data check` finds: the shared data's documented oddities, and planted defects."""

from pathlib import Path
from typing import Any

import pytest

from qe.data.check import check, guess_format, parse_settings
from tests.factories import Find

LABEL = {"name": "score", "low": 1, "high": 5, "higher_is_better": True}


def options(**splits: dict[str, str]) -> dict[str, Any]:
    return {"splits": splits, "label": LABEL, "source_language": "en", "target_language": "es"}


TRAIN = {"source": "s", "target": "t", "scores": "y"}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for name, text in (("s", "a b\nc\nd\n"), ("t", "A B\nC\nD\n"), ("y", "1\n2.5\n5\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_wmt12(shared_data: Find) -> None:
    """Statistics and oddities as the data's README tells them."""
    report = check(shared_data("wmt12-qe"))
    train, test = report.splits["train"], report.splits["test"]
    assert report.format == "wmt12" and report.defects == () and report.unreadable == ()
    assert train.labels is not None and train.judges is not None and train.histogram is not None
    assert (train.segments, test.segments, test.labels) == (1832, 422, None)
    assert train.labels.mean == pytest.approx(3.4455, abs=5e-5)
    assert (train.labels.median, train.labels.low, train.labels.high) == (3.5, 1.3, 5)
    assert train.labels.distinct == 23 and train.unedited == 58
    assert train.duplicates == {"source": 0, "target": 1, "pair": 0}
    assert [round(judge.mean or 0, 3) for judge in train.judges.summaries] == [3.580, 3.841, 3.213]
    assert train.judges.deviation == pytest.approx(0.04, abs=1e-9)
    assert train.judges.weights == pytest.approx((2 / 6, 1 / 6, 3 / 6))
    assert train.judges.far_apart == 284
    assert train.judges.kappa[0][1] == pytest.approx(0.636, abs=5e-4) and train.judges.kappa[2][2] == 1
    assert train.judges.alpha == pytest.approx({"ordinal": 0.609, "interval": 0.597}, abs=5e-4)
    assert sum(train.histogram[1]) == 1832 and train.histogram[0][0] == 1 and train.histogram[0][-1] == 5
    assert sum("trailing blanks" in note for note in report.notes) == 5


@pytest.mark.parametrize(
    ("pair", "repeated", "overlap"),
    [("en-de", 0, {"test20 in train": 3}), ("ro-en", 1, {"dev in train": 1, "test20 in train": 0})],
)
def test_mlqe_pe_repetitions(shared_data: Find, pair: str, repeated: int, overlap: dict[str, int]) -> None:
    """ "3 en-de source sentences occur both in train and test20, ..." (README, Oddities)."""
    report = check(shared_data("mlqe-pe"), options={"pair": pair, "label": "da_mean"})
    assert report.splits["train"].duplicates["source"] == repeated
    assert {pair: report.overlaps[pair]["source"] for pair in overlap} == overlap
    judges = report.splits["train"].judges
    assert judges is not None and judges.deviation == pytest.approx(0, abs=1e-9)
    assert [judge.n for judge in judges.summaries] == [7000] * 3 + [593] * (3 if pair == "en-de" else 0)


def test_every_defect_is_told(texts: Path) -> None:
    (texts / "y").write_text("1\nx\n9\n")
    (texts / "t").write_text("A B\n\nD\n")
    report = check(texts, "parallel_text", options(train=TRAIN))
    assert [defect.rsplit("/", 1)[-1] for defect in report.defects] == [
        "y:2: the label 'score' is not a number ('x')",
        "y:3: the label 'score' is 9, off the declared scale [1, 5]",
        "train: 1 segments have an empty target (first: train-2)",
    ]
    assert report.splits["train"].labels is not None and report.splits["train"].labels.n == 1


def test_constant_and_contradicting_labels(texts: Path) -> None:
    (texts / "y").write_text("3\n3\n3\n")
    report = check(texts, "parallel_text", options(train=TRAIN))
    assert report.defects == ("train: all labels are 3, so there is nothing to learn",)
    (texts / "y").write_text("3\n3\n4\n")
    for name in "st":
        (texts / name).write_text("a\nb\nb\n")
    report = check(texts, "parallel_text", options(train=TRAIN))
    assert report.defects == ("train: 1 repeated pairs of source and target have different labels",)
    assert report.splits["train"].duplicates == {"source": 1, "target": 1, "pair": 1}


def test_goes_on_after_unreadable_files(texts: Path) -> None:
    (texts / "short").write_text("A\n")
    splits = {
        "train": TRAIN,
        "dev": TRAIN | {"target": "short"},
        "test": {"source": "none", "target": "nowhere"},
    }
    report = check(texts, "parallel_text", options(**splits))
    assert list(report.splits) == ["train"]
    assert [error.split(": ", 1)[1][:20] for error in report.unreadable] == [
        "ends after 1 lines, ",
        "no such file; check ",
        "no such file; check ",
    ]


def test_overlap_between_splits(texts: Path) -> None:
    (texts / "s2").write_text("A b.\nnew\n")
    (texts / "t2").write_text("x\nC\n")
    report = check(texts, "parallel_text", options(train=TRAIN, test={"source": "s2", "target": "t2"}))
    assert report.overlaps == {"test in train": {"source": 1, "target": 1, "pair": 0}}


def test_guessing_the_format(tmp_path: Path, shared_data: Find) -> None:
    assert guess_format(shared_data("mlqe-pe/en-de")) == "mlqe_pe"
    (tmp_path / "a.csv.gz").touch()
    assert guess_format(tmp_path / "a.csv.gz") == "table"


def test_settings() -> None:
    assert parse_settings(["splits.train=a.tsv", "quoting=true", "splits.test=b"]) == {
        "splits": {"train": "a.tsv", "test": "b"},
        "quoting": True,
    }


@pytest.mark.parametrize(
    "language, tokenizer, wrong", [("zh", "moses", 0), ("zh", "whitespace", 1), ("es", "moses", 1)]
)
def test_texts_without_blanks_that_are_split_at_blanks(
    texts: Path, language: str, tokenizer: str, wrong: int
) -> None:
    (texts / "t").write_text("他昨天去了北京。\n天气很好。\n请发给我。\n", "utf-8")
    settings = options(train=TRAIN) | {"target_language": language, "tokenizer": tokenizer}
    defects = check(texts, "parallel_text", settings).defects
    assert sum("target texts seem to have no blanks" in defect for defect in defects) == wrong
