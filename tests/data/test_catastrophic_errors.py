"""Catastrophic errors of MLQE-PE: a layout more is a line more."""

from pathlib import Path

import pytest

from qe.data.check import check
from qe.data.format import make_format
from tests.factories import refuses

TRAIN = '1\tit "rains"\tes regnet\t[0, 0, 2]\tNOT\n2\tdo not go\tgehen Sie\t[1, 0, 1]\tERR\n'
# Files -> split -> sources and labels; or the words of the refusal.
CASES: dict[str, tuple[dict[str, str], dict[str, tuple[list[str], list[float] | None]] | str]] = {
    "train alone": ({"train": TRAIN}, {"train": (['it "rains"', "do not go"], [0.0, 1.0])}),
    "a blind test set": (
        {"train": TRAIN, "test_blind": "9\ta\tb\n"},
        {"train": (['it "rains"', "do not go"], [0.0, 1.0]), "test": (["a"], None)},
    ),
    "one with labels before the blind one": (
        {"train": TRAIN, "test_blind": "9\ta\tb\n", "test": "9\ta\tb\t[1, 1, 1]\tERR\n"},
        {"train": (['it "rains"', "do not go"], [0.0, 1.0]), "test": (["a"], [1.0])},
    ),
    "no training file": ({"dev": TRAIN}, "ende_majority_train.tsv: no such file"),
    "another label": (
        {"train": "1\ta\tb\t[0]\tMAYBE\n"},
        ":1: the label 'catastrophic_error' is not a number",
    ),
    "a field too few": (
        {"train": "1\ta\tb\tNOT\n"},
        ":1: expected id, source, target, votes, scores, found 4",
    ),
    "an id twice": ({"train": TRAIN + TRAIN}, "the segment id '1' was used before"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read(case: str, tmp_path: Path) -> None:
    files, expected = CASES[case]
    for split, content in files.items():
        (tmp_path / f"ende_majority_{split}.tsv").write_text(content, "utf-8")
    form = make_format("catastrophic_errors", {"pair": "en-de"})
    if isinstance(expected, str):
        refuses(expected, form.read, tmp_path)
        return
    read = form.read(tmp_path)
    found = {
        name: (list(split.segments.source), None if split.scores is None else split.scores.tolist())
        for name, split in read.splits.items()
    }
    assert found == expected
    assert read.scale.classes == ("NOT", "ERR") and not read.scale.higher_is_better


def test_the_folder_shows_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "ende_majority_train.tsv").write_text(TRAIN, "utf-8")
    report = check(tmp_path, None, {"pair": "en-de"})
    assert not report.unreadable and not report.defects
