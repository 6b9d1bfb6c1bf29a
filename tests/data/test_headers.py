"""Headers in use, and labels of two classes as people write them: one more is a line more."""

from pathlib import Path

import pandas as pd
import pytest

from qe.data import Dataset, LabelScale
from qe.data.format import FORMATS
from qe.data.headers import classes_of, header_of
from qe.scoring.row_formats import Names, Needs

KNOWN = {
    "source": ["source", "SRC", "Original", "Source Text", "source-segment"],
    "target": ["target", "TGT", "MT", "hyp", "mt-output", "Machine Translation"],
    "scores": ["z_mean", "HTER", "score", "mqm"],
    "post_edit": ["pe", "Post-Edit"],
    "id": ["seg_id", "Segment ID"],
}
CASES = [(role, header) for role, headers in KNOWN.items() for header in headers]


@pytest.mark.parametrize(("role", "header"), CASES)
def test_a_header_in_use(role: str, header: str) -> None:
    assert header_of(role, ["other", header], "x") == header


def test_none() -> None:
    assert header_of("source", ["a", "b"], "x") == ""


# Headers of a table, what the model remembers, what the user says -> the names that scoring takes.
COMPLETED: dict[str, tuple[list[str], dict[str, str], dict[str, str], dict[str, str]]] = {
    "its own": (["source", "target", "mt"], {}, {}, {}),
    "in use": (["SRC", "mt", "x"], {}, {}, {"source": "SRC", "target": "mt"}),
    "remembered": (
        ["en", "es", "mt"],
        {"source": "en", "target": "es"},
        {},
        {"source": "en", "target": "es"},
    ),
    "remembered, but not there": (["src", "mt"], {"source": "en"}, {}, {"source": "src", "target": "mt"}),
    "given": (["src", "mt", "hyp"], {}, {"target": "hyp"}, {"target": "hyp", "source": "src"}),
    "an id": (["src", "mt", "seg_id"], {}, {}, {"source": "src", "target": "mt", "id": "seg_id"}),
    "two ids": (["src", "mt", "seg_id", "sent_id"], {}, {}, {"source": "src", "target": "mt"}),
}


@pytest.mark.parametrize("case", COMPLETED)
def test_names_are_completed(case: str) -> None:
    headers, remembered, given, expected = COMPLETED[case]
    names = Names(given).completed(Needs(("source", "target"), "x", remembered), headers, "x")
    assert names.headers == expected


def test_what_was_completed_is_told() -> None:
    given = Names({"target": "hyp"})
    assert given.completed(Needs(("source", "target"), "x"), ["src", "hyp"], "x").notes(given) == (
        "source = src",
    )


# Labels -> (the classes as they are written, whether the second is the better one), or None.
CLASSES: dict[str, tuple[list[str], tuple[tuple[str, str], bool | None] | None]] = {
    "critical errors": (["NOT", "ERR", "NOT"], (("NOT", "ERR"), False)),
    "words": (["OK", "BAD"], (("OK", "BAD"), False)),
    "small letters": (["bad", "ok", "ok"], (("ok", "bad"), False)),
    "truth": (["True", "False"], (("False", "True"), None)),
    "yes and no": (["no", "yes"], (("no", "yes"), None)),
    "numbers": (["0", "1", "1"], (("0", "1"), None)),
    "a reviewer's words": (["Accept", "Reject"], (("Accept", "Reject"), False)),
    "grades": (["0", "1", "2"], None),
    "shares": (["0", "0.5", "1"], None),
    "with gaps": (["OK", "", "BAD", "n/a", "OK"], (("OK", "BAD"), False)),
    "mostly something else": (["OK", "BAD", "x", "y", "z"], None),
    "one class": (["OK", "OK"], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes(case: str) -> None:
    labels, expected = CLASSES[case]
    assert classes_of(labels) == expected


def test_a_table_with_classes(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("source\ttarget\tl\na\tb\tNOT\nc\td\tERR\ne\tf\t?\ng\th\tnot\n")
    label = {"name": "critical", "classes": ["NOT", "ERR"], "higher_is_better": False}
    dataset = FORMATS.get("table")(
        label=label, source_language="en", target_language="de", columns={"scores": "l"}
    ).read(path)
    assert dataset.scale == LabelScale("critical", 0.0, 1.0, False, ["NOT", "ERR"])
    scores = dataset.splits["train"].scores
    assert scores is not None and scores.tolist() == [0.0, 1.0, 0.0]
    assert any("1 rows without a label are left out (lines 4)" in note for note in dataset.notes)


def test_a_frame_with_classes() -> None:
    table = pd.DataFrame({"src": ["a", "b", "c"], "mt": ["d", "e", "f"], "label": ["OK", "BAD", "OK"]})
    dataset = Dataset.from_frame(table, "label", source_language="en", target_language="de")
    scores = dataset.splits["train"].scores
    assert scores is not None and scores.tolist() == [0.0, 1.0, 0.0]
    assert not dataset.scale.higher_is_better and dataset.scale.classes == ("OK", "BAD")
