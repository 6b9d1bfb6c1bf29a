"""Submissions to word-level tasks: a form more is a line more."""

from pathlib import Path

import pytest

from qe.data.tag_files import Layout, is_word_submission, read_word_submission
from tests.factories import refuses

TASK_2020 = (
    "123456\n560000000\n3\n"
    "en-de\tMine\tgap\t0\t0\t<gap>\tOK\nen-de\tMine\tmt\t0\t0\tes\tBAD\nen-de\tMine\tgap\t0\t1\t<gap>\tBAD\n"
    "en-de\tMine\tsource\t0\t0\tit\tOK\nen-de\tMine\tsource\t0\t1\trains\tBAD\n"
    "en-de\tMine\tgap\t1\t0\t<gap>\tOK\nen-de\tMine\tsource\t1\t0\tno\tOK\n"
)
# Content, layout -> tags of the segments (1: BAD); or the words of the refusal.
CASES: dict[str, tuple[str, Layout, list[list[int]] | str]] = {
    "2020: gaps and words": (TASK_2020, "tags", [[0, 1, 1], [0]]),
    "2020: words": (TASK_2020, "words", [[1], []]),
    "2020: gaps": (TASK_2020, "gaps", [[0, 1], [0]]),
    "2020: source": (TASK_2020, "source", [[0, 1], [0]]),
    "2018": ("M\tmt\t1\t0\ta\tOK\nM\tmt\t1\t1\tb\tBAD\n", "words", [[0, 1]]),
    "before, with a number": (
        "M\t1\t1\ta\t0.2\tOK\nM\t1\t2\tb\t0.9\tBAD\nM\t2\t1\tc\t1\tBAD\n", "words", [[0, 1], [1]],
    ),
    "before, blanks between": ("M 0 0 a OK\nM 0 1 b bad\n", "words", [[0, 1]]),
    "any order": ("M\t1\t1\tb\tBAD\nM\t0\t0\tx\tOK\nM\t1\t0\ta\tOK\n", "words", [[0], [0, 1]]),
    "a word twice": ("M\t0\t0\ta\tOK\nM\t0\t0\ta\tOK\n", "words", r":2: segment 0: index 0 is given twice"),
    "a word is missing": ("M\t0\t0\ta\tOK\nM\t0\t2\ta\tOK\n", "words", ":2: .*index 2 is there, but 1"),
    "a segment is missing": ("M\t0\t0\ta\tOK\nM\t7\t0\ta\tOK\n", "words", "but 1 is missing"),
    "a number beyond all": (f"M\t0\t0\ta\tOK\nM\t{10**17}\t0\ta\tOK\n", "words", "but 1 is missing"),
    "from 2": ("M\t2\t0\ta\tOK\n", "words", "segment 2 is there, but 1"),
    "two systems": ("M\t0\t0\ta\tOK\nN\t0\t0\ta\tOK\n", "words", r"records of 2 systems .M, N"),
    "no gaps": ("M\t0\t0\ta\tOK\n", "tags", "no tags of gaps; --layout words, gaps or source"),
    "gaps that do not fit": (
        "M\tmt\t0\t0\ta\tOK\nM\tgap\t0\t0\t_\tOK\n", "tags", "1 gaps around 1 words in segment 0",
    ),
    "another tag": ("M\t0\t0\ta\tOK\nM\t0\t1\ta\tGOOD\n", "words", ":2: expected PAIR, METHOD, TYPE"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_submissions(case: str, tmp_path: Path) -> None:
    content, layout, expected = CASES[case]
    path = tmp_path / "submission"
    path.write_text(content, "utf-8")
    assert is_word_submission(path)
    if isinstance(expected, str):
        refuses(expected, read_word_submission, path, layout)
        return
    file = read_word_submission(path, layout)
    bounds = zip(file.offsets[:-1], file.offsets[1:], strict=True)
    assert [file.bad[low:high].tolist() for low, high in bounds] == expected
    assert not file.probabilities


@pytest.mark.parametrize(
    "content", ["OK BAD OK OK BAD\n", "OK OK OK OK OK OK\n", "0.5 0.25 1 0 1\n", "\n", "1\n2\n3\n4\n"]
)
def test_tag_files_are_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(content, "utf-8")
    assert not is_word_submission(tmp_path / "t")
