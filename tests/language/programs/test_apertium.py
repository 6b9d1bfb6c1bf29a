"""Runs of a program in which no text has an influence on another."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.language.programs import apertium
from qe.language.programs.apertium import look_up, unseen

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


def test_units_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "upper"
    program.write_text(f"#!/bin/sh\necho call >> '{tmp_path}/calls'\nexec tr a-z A-Z\n")
    program.chmod(0o755)
    text = r"^a<n>$ b ^c\$d<v>$\^e^a<n>$[][\n\n]"
    assert look_up((str(program),), text) == r"^A<N>$ b ^C\$D<V>$\^e^A<N>$[][\n\n]"
    assert look_up((str(program),), "^a<n>$ x") == "^A<N>$ x"
    assert (tmp_path / "calls").read_text() == "call\n"
    monkeypatch.setattr(apertium, "_MOST", 1)  # two are known: forgotten, and looked up again
    assert look_up((str(program),), "^a<n>$ x") == "^A<N>$ x"
    assert (tmp_path / "calls").read_text() == "call\ncall\n"


def test_a_program_that_does_not_answer_unit_by_unit_sees_the_whole_text(tmp_path: Path) -> None:
    program = tmp_path / "lines"
    program.write_text("#!/bin/sh\ntr -d '\\n'\n")
    program.chmod(0o755)
    assert look_up((str(program),), "^a$ b\n^c$") == "^a$ b^c$"
