"""Exports of Label Studio: a control or a way of exporting more is a line more."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.data.format import make_format
from tests.factories import refuses

RATED = {"name": "quality", "low": 1, "high": 5, "higher_is_better": True}
TAGGED = {"name": "error", "classes": ["OK", "BAD"], "higher_is_better": False}


def marks(kind: str, value: Any, name: str = "quality", **extra: Any) -> dict[str, Any]:
    return {"result": [{"from_name": name, "type": kind, "value": {kind: value}}], **extra}


def task(number: int, *annotations: dict[str, Any], **data: str) -> dict[str, Any]:
    return {"id": number, "data": {"source": "it rains", "mt": f"es regnet {number}", **data},
            "annotations": list(annotations)}  # fmt: skip


# Tasks, keys of the format -> ids and labels; or the words of the refusal.
CASES: dict[str, tuple[Any, dict[str, Any], tuple[list[str], list[float]] | str]] = {
    "ratings of two annotators": ([task(7, marks("rating", 4), marks("rating", 5))], {}, (["7"], [4.5])),
    "numbers": ([task(1, marks("number", 2.5))], {}, (["1"], [2.5])),
    "one was cancelled": (
        [task(1, marks("rating", 1, was_cancelled=True), marks("rating", 3))], {}, (["1"], [3.0]),
    ),
    "older versions": (
        [{"id": 1, "data": {"source": "a", "target": "b"}, "completions": [marks("rating", 2)]}],
        {},
        (["1"], [2.0]),
    ),
    "a task without annotations is left out": (
        [task(1, marks("rating", 4)), task(2), task(3, marks("rating", 2))], {}, (["1", "3"], [4.0, 2.0]),
    ),
    "spans, too": (
        [task(1, {"result": [{"from_name": "spans", "type": "labels", "value": {"labels": ["x"], "start": 0}},
                             {"from_name": "quality", "type": "rating", "value": {"rating": 3}}]})],
        {},
        (["1"], [3.0]),
    ),
    "choices": (
        [task(1, marks("choices", ["BAD"]), marks("choices", ["OK"]), marks("choices", ["BAD"])),
         task(2, marks("choices", ["OK"])), task(3, marks("choices", ["OK"]), marks("choices", ["BAD"]))],
        {"label": TAGGED},
        (["1", "2"], [1.0, 0.0]),
    ),
    "JSON-MIN": (
        [{"id": 1, "source": "a", "translation": "b", "quality": 4, "annotator": "x"},
         {"id": 1, "source": "a", "translation": "b", "quality": 2, "annotator": "y"}],
        {"control": "quality"},
        (["1"], [3.0]),
    ),
    "JSON-MIN, all that it keeps": (
        [{"id": 1, "source": "a", "translation": "b", "quality": 4, "annotator": 7, "annotation_id": 3,
          "created_at": "2024", "updated_at": "2024", "lead_time": 1.5}],
        {},
        (["1"], [4.0]),
    ),
    "JSON-MIN, choices and a comment": (
        [{"id": 1, "source": "a", "translation": "b", "q": "bad", "comment": "x", "annotator": 7}],
        {"label": TAGGED},
        (["1"], [1.0]),
    ),
    "keys of one's own": (
        [task(1, marks("rating", 4), text="x y", out="z")], {"columns": {"source": "text", "target": "out"}},
        (["1"], [4.0]),
    ),
    "post-edits": (
        [task(1, marks("text", ["es regnet heute"], "edit"))], {"label": "hter"}, (["1"], [1 / 3]),
    ),
    "two controls": (
        [task(1, {"result": marks("rating", 4)["result"] + marks("number", 9, "other")["result"]})],
        {},
        "which control holds the label.; set `control` to one of quality, other",
    ),
    "unknown control": ([task(1, marks("rating", 4))], {"control": "qualty"}, "did you mean 'quality'"),
    "no label": ([task(1)], {}, "no annotation holds a label"),
    "off the scale": ([task(1, marks("rating", 9))], {}, "task 1: the label 'quality' is 9.0, off"),
    "no source": (
        [{"id": 1, "data": {"x": "a", "mt": "b"}, "annotations": [marks("rating", 4)]}],
        {},
        "no key of a task's data is known as the source; name it under `columns: .source",
    ),
    "nothing": ([], {}, "there are no tasks"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_read(case: str, tmp_path: Path) -> None:
    content, keys, expected = CASES[case]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(content), "utf-8")
    languages = {"source_language": "en", "target_language": "de"}
    form = make_format("label_studio", {**languages, "label": RATED, **keys})
    if isinstance(expected, str):
        refuses(expected, form.read, path)
        return
    split = form.read(path).splits["train"]
    assert split.scores is not None
    assert (list(split.segments.id), split.scores.tolist()) == (expected[0], pytest.approx(expected[1]))
