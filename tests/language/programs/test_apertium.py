"""Runs of a program in which no text has an influence on another."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.language.programs.apertium import pipeline, unseen

WARNING = (
    "Error: A new ambiguity class was found. \nRetraining is necessary.\nWord '{}'.\nNew class: {{A,B}}\n"
)
WORDS = ["I", "It", "near", "a lot", "house"]


def learning(texts: Sequence[str]) -> tuple[str, str]:
    """Upper-cases; but from the first strange word on (`I`, `near`), the rest is lower-cased."""
    output, messages, learned = [], "", False
    for text in texts:
        strange = [word for word in text.split() if word in ("I", "near")]
        output.append(text.lower() if learned else text.upper())
        messages += "".join(WARNING.format(word) for word in strange)
        learned |= bool(strange)
    return "\n".join(output), messages


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join), max_size=8))
def test_every_text_comes_out_as_it_does_alone(texts: list[str]) -> None:
    by_name: dict[int, str] = {}
    for rows, output in unseen(texts, learning):
        by_name |= zip(rows, output.split("\n"), strict=True)
    assert [by_name[i] for i in range(len(texts))] == [learning([text])[0] for text in texts]


def test_texts_without_surprises_share_one_run() -> None:
    runs = unseen(["It", "house", "I", "house It"], learning)
    assert [rows for rows, _ in runs] == [[2], [0, 1, 3]]


def test_a_mode_is_taken_apart_at_its_tagger(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is None
    mode = tmp_path / "modes" / "a-b.mode"
    mode.write_text("lt-proc 'x y' | cg-proc z | lt-proc $1 w")
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is None
    mode.write_text("lt-proc 'x y' | apertium-tagger -g $2 'a b.prob' | lt-proc z | lt-proc $1 w\n")
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is not None and outcome.tagger == "a b.prob"
        folder = Path(outcome.folder)
        assert (folder / "modes" / "before.mode").read_text() == "lt-proc 'x y' "
        assert (folder / "modes" / "after.mode").read_text() == " lt-proc z | lt-proc $1 w"
    assert not folder.exists()
