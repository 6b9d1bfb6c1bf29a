"""Runs of a program in which no text has an influence on another."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.language import apertium
from qe.language.apertium import look_up, pipeline, unseen

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
        assert outcome is not None and outcome.tagger == "a b.prob" and outcome.later_stages == ("after0",)
        folder = Path(outcome.folder)
        assert (folder / "modes" / "before.mode").read_text() == "lt-proc 'x y' "
        assert (folder / "modes" / "after0.mode").read_text() == "lt-proc z | lt-proc $1 w"
    assert not folder.exists()


def test_a_mode_is_taken_apart_at_its_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    dictionaries = "p | t -n 'q' | lt-proc -b 'a b' | r | lt-proc $1 'g' | lt-proc -p 'h'"
    (tmp_path / "modes" / "a-b.mode").write_text(
        f"lt-proc 'm' | apertium-tagger -g $2 'n' | {dictionaries}\n"
    )
    with pipeline("apertium", tmp_path, "a-b") as outcome:
        assert outcome is not None
        translations, forms = ("lt-proc", "-b", "a b"), ("lt-proc", "-n", "g")
        assert outcome.later_stages == ("after0", translations, "after2", forms, "after4")
        modes = [
            (Path(outcome.folder) / "modes" / f"{stage}.mode").read_text()
            for stage in outcome.later_stages[::2]
        ]
    assert modes == ["p | t -n 'q'", "r", "lt-proc -p 'h'"]


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
