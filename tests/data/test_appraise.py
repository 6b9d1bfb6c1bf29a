"""Exports of Appraise as training data: a case more is a line more."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.data.dataset import Dataset
from qe.data.format import make_format
from tests.factories import refuses

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
OF_BATCHES = {"batches": "batches.json", "label": "raw"}
Z = "".join(f"u1,A,{i},TGT,eng,deu,{score}\n" for i, score in ((1, 10), (2, 30)))
# CSV, keys -> (source, target, label) of each row, or the words of the refusal.
CASES: dict[str, tuple[str, dict[str, Any], list[tuple[str, str, float]] | str]] = {
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
    "which document": ("u1,A+B,1,TGT,eng,deu,80\n", OF_BATCHES, ":1: 2 texts of system 'A.B'"),
    "no such item": ("u1,A+B,7,TGT,eng,deu,80,d1,False\n", OF_BATCHES, ":1: no text of system 'A.B'"),
    "no such line": ("u1,A,7,TGT,eng,deu,80\n", LINES, "no line for item '7': there are 2 sources and 2"),
    "no such system": ("u1,C,1,TGT,eng,deu,80\n", LINES, "unknown system 'C'; known: A, B"),
    "no texts": (Z, {"label": "raw"}, "the judged texts must be named once"),
    "texts twice": (Z, {**LINES, "batches": "batches.json"}, "the judged texts must be named once"),
    "two pairs": (Z + "u1,A,1,TGT,eng,ces,2\n", LINES, "which language pair"),
    "one of two pairs": (
        Z + "u1,A,1,TGT,eng,ces,2\n", {**LINES, "pair": "eng-ces"}, [("it rains", "es regnet", 2)],
    ),
}  # fmt: skip
NOTED = {"tutorials", "documents that fill a batch", "the latest answer", "the latest answer by time"}


@pytest.mark.parametrize("case", CASES)
def test_exports(case: str, tmp_path: Path) -> None:
    csv, keys, expected = CASES[case]
    files = {
        "scores.csv": csv,
        "source.txt": SOURCE,
        "A.txt": A,
        "B.txt": B,
        "batches.json": json.dumps(BATCHES),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")

    def read() -> Dataset:
        return make_format("appraise", {**LANGUAGES, **keys}).read(tmp_path / "scores.csv")

    if isinstance(expected, str):
        refuses(expected, read)
        return
    dataset = read()
    split = dataset.splits["train"]
    assert any("are left out" in note for note in dataset.notes) == (case in NOTED)
    assert split.scores is not None
    assert (*zip(split.segments.source, split.segments.target, strict=True),) == tuple(
        row[:2] for row in expected
    )
    assert split.scores.tolist() == pytest.approx([row[2] for row in expected])
