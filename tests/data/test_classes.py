"""Labels of two classes: what people write for them; a pair more is a line more."""

from pathlib import Path

import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.data import Dataset, LabelScale
from qe.data.columns import label_scale
from qe.data.format import FORMATS
from qe.data.headers import classes_of
from tests.factories import refuses

# Labels -> (the classes as they are written, whether the second is the better one), or None.
CASES: dict[str, tuple[list[str], tuple[tuple[str, str], bool | None] | None]] = {
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


@pytest.mark.parametrize("case", CASES)
def test_classes(case: str) -> None:
    labels, expected = CASES[case]
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


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"classes": ["a"]}, "two different classes are needed, but got"),
        ({"classes": [True, False]}, r"but got \[True, False\].*in quotes"),
        ({"classes": ["a", "b"], "high": 5}, "must be 0 and 1, as the label has classes"),
    ],
)
def test_classes_that_are_none(label: dict[str, object], message: str) -> None:
    refuses(message, label_scale, {"name": "x", "higher_is_better": True, **label})


def test_a_frame_with_classes() -> None:
    table = pd.DataFrame({"src": ["a", "b", "c"], "mt": ["d", "e", "f"], "label": ["OK", "BAD", "OK"]})
    dataset = Dataset.from_frame(table, "label", source_language="en", target_language="de")
    scores = dataset.splits["train"].scores
    assert scores is not None and scores.tolist() == [0.0, 1.0, 0.0]
    assert not dataset.scale.higher_is_better and dataset.scale.classes == ("OK", "BAD")
    truth = table.assign(label=[True, False, True])
    with pytest.raises(InputError, match="direction of the label 'label' is not known"):
        Dataset.from_frame(truth, "label", source_language="en", target_language="de")
