"""Exports of Appraise and Label Studio: a control or a way of exporting more is a line more."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.data.format import make_format

LANGUAGES = {"source_language": "en", "target_language": "de"}
SOURCE, A, B = "it rains\na house\n", "es regnet\nein Haus\n", "Regen\nHaus\n"
LINES = {"source": "source.txt", "systems": {"A": "A.txt", "B": "B.txt"}, "label": "raw"}
BATCHES = [
    {
        "task": {"batchNo": 1},
        "items": [
            {"itemID": 1, "targetID": "A+B", "documentID": doc, "sourceText": source, "targetText": target}
            for doc, source, target in (
                ("d1", "it rains", "es regnet"), ("d2", "a house", "ein Haus"), ("d2", "a house", "ein Haus"),
            )
        ],
    }
]  # fmt: skip
JUDGED = {"source.txt": SOURCE, "A.txt": A, "B.txt": B, "batches.json": json.dumps(BATCHES)}
OF_BATCHES = {"batches": "batches.json", "label": "raw"}
Z = "".join(f"u1,A,{i},TGT,eng,deu,{score}\n" for i, score in ((1, 10), (2, 30)))
# CSV, keys -> (source, target, label) of each row.
APPRAISE: dict[str, tuple[str, dict[str, Any], list[tuple[str, str, float]]]] = {
    "lines": (
        "u1,A,1,TGT,eng,deu,80\nu1,B,2,TGT,eng,deu,40\n", LINES,
        [("it rains", "es regnet", 80), ("a house", "Haus", 40)],
    ),
    "two annotators": (
        "u1,A,1,TGT,eng,deu,80\nu2,A,1,TGT,eng,deu,60\n", LINES, [("it rains", "es regnet", 70)],
    ),
    "quality control": (
        "u1,A,1,TGT,eng,deu,80\nu1,A,1,BAD,eng,deu,1\nu1,r,1,REF,eng,deu,100\nu1,A,1,CHK,eng,deu,9\n", LINES,
        [("it rains", "es regnet", 80)],
    ),
    "standardised": (
        Z + Z.replace("u1", "u2").replace("10", "80").replace("30", "90"), {**LINES, "label": "z"},
        [("it rains", "es regnet", -(0.5**0.5)), ("a house", "ein Haus", 0.5**0.5)],
    ),
    "annotators who always gave the same have no z": (
        Z + "u2,A,1,TGT,eng,deu,50\nu2,A,2,TGT,eng,deu,50\n", {**LINES, "label": "z"},
        [("it rains", "es regnet", -(0.5**0.5)), ("a house", "ein Haus", 0.5**0.5)],
    ),
    "batches with documents": (
        "u1,A+B,1,TGT,eng,deu,80,d1,False,1,2\nu1,A+B,1,TGT,eng,deu,20,d2,False,1,2\n"
        "u1,A+B,2,TGT,eng,deu,9,d2,True,1,2\n",
        OF_BATCHES, [("it rains", "es regnet", 80), ("a house", "ein Haus", 20)],
    ),
    "tutorials": (
        "u1,A,1,TGT,eng,deu,80\nu1,ende-tutorial1,1000001,TGT,eng,deu,0,ende-tutorial1,False,1,2\n"
        "u1,A,1000002,TGT,eng,deu,0\nu1,tutorial,2,TGT,eng,deu,0\nu1,A,2,TGT,eng,deu,5,x#tutorial2,False,1,2\n",
        LINES, [("it rains", "es regnet", 80)],
    ),
    "documents that fill a batch": (
        "u1,A+B,1,TGT,eng,deu,80,d1,False,1,2\nu1,A+B,1,TGT,eng,deu,0,d1#incomplete,False,1,2\n"
        "u1,A+B,1,TGT,eng,deu,0,d2#duplicate3,False,1,2\nu2,A+B,1,TGT,eng,deu,0,d2#Duplicate,False,[],1,2\n",
        OF_BATCHES, [("it rains", "es regnet", 80)],
    ),
    "the latest answer": (
        "u1,A,1,TGT,eng,deu,80\nu2,A,1,TGT,eng,deu,40\nu1,A,1,TGT,eng,deu,60\n", LINES,
        [("it rains", "es regnet", 50)],
    ),
    "the latest answer by time": (
        "u1,A+B,1,TGT,eng,deu,80,d1,False,[],7.0,9.0\nu1,A+B,1,TGT,eng,deu,20,d1,False,[],1.0,2.0\n",
        OF_BATCHES, [("it rains", "es regnet", 80)],
    ),
    "one of two pairs": (
        Z + "u1,A,1,TGT,eng,ces,2\n", {**LINES, "pair": "eng-ces"}, [("it rains", "es regnet", 2)],
    ),
}  # fmt: skip
NOTED = {"tutorials", "documents that fill a batch", "the latest answer", "the latest answer by time"}


@pytest.mark.parametrize("case", APPRAISE)
def test_exports(case: str, tmp_path: Path) -> None:
    csv, keys, expected = APPRAISE[case]
    for name, text in {**JUDGED, "scores.csv": csv}.items():
        (tmp_path / name).write_text(text, "utf-8")
    dataset = make_format("appraise", {**LANGUAGES, **keys}).read(tmp_path / "scores.csv")
    split = dataset.splits["train"]
    assert any("are left out" in note for note in dataset.notes) == (case in NOTED)
    assert split.scores is not None
    assert (*zip(split.segments.source, split.segments.target, strict=True),) == tuple(
        row[:2] for row in expected
    )
    assert split.scores.tolist() == pytest.approx([row[2] for row in expected])


RATED = {"name": "quality", "low": 1, "high": 5, "higher_is_better": True}
TAGGED = {"name": "error", "classes": ["OK", "BAD"], "higher_is_better": False}


def marks(kind: str, value: Any, name: str = "quality", **extra: Any) -> dict[str, Any]:
    return {"result": [{"from_name": name, "type": kind, "value": {kind: value}}], **extra}


def task(number: int, *annotations: dict[str, Any], **data: str) -> dict[str, Any]:
    return {"id": number, "data": {"source": "it rains", "mt": f"es regnet {number}", **data},
            "annotations": list(annotations)}  # fmt: skip


# Tasks, keys of the format -> ids and labels.
TASKS: dict[str, tuple[Any, dict[str, Any], tuple[list[str], list[float]]]] = {
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
}  # fmt: skip


@pytest.mark.parametrize("case", TASKS)
def test_label_studio(case: str, tmp_path: Path) -> None:
    content, keys, expected = TASKS[case]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(content), "utf-8")
    split = make_format("label_studio", {**LANGUAGES, "label": RATED, **keys}).read(path).splits["train"]
    assert split.scores is not None
    assert (list(split.segments.id), split.scores.tolist()) == (expected[0], pytest.approx(expected[1]))
