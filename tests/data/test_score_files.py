"""Scores and tags as other programs write them: a form more is a line more."""

import json
from pathlib import Path

import pytest

from qe.data.score_files import read_scores
from qe.data.tag_files import Layout, is_word_submission, read_word_submission

# What a file holds -> the name of the system and its scores.
CASES: dict[str, tuple[str, tuple[str, list[float]]]] = {
    "task of 2020": ("en-de\tMine\t0\t0.5\nen-de\tMine\t1\t-0.25\n", ("Mine", [0.5, -0.25])),
    "segments from 1": ("en-de\tMine\t1\t0.5\nen-de\tMine\t2\t1\n", ("Mine", [0.5, 1.0])),
    "one header line": ("2147483648\nen-de\tMine\t0\t1\n", ("Mine", [1.0])),
    "three header lines": ("2147483648\n560000000\n3\net-en\tMine\t0\t1\n", ("Mine", [1.0])),
    "any order": ("en-zh\tM\t1\t0.1\nen-zh\tM\t0\t0.2\n", ("M", [0.2, 0.1])),
    "blanks between": ("en-de Mine 0 0.5\nen-de Mine 1 0.75\n", ("Mine", [0.5, 0.75])),
    "an empty line at the end": ("en-de\tMine\t0\t0.5\n\n", ("Mine", [0.5])),
    "comet-score": (
        "o/hyp.de\tSegment 0\tscore: 0.8523\no/hyp.de\tSegment 1\tscore: 0.1\no/hyp.de\tscore: 0.4761\n",
        ("hyp.de", [0.8523, 0.1]),
    ),
    "comet-score 1.0": (
        "Segment 0\tscore: 0.85\nSegment 1\tscore: 0.1\nSystem score: 0.47\n",
        ("a", [0.85, 0.1]),
    ),
    "comet-score with dropout": (
        "hyp.de\tSegment 0\tscore: 0.85\tvariance: 0.01\nhyp.de\tscore: 0.85\nPredictions saved in: x.\n",
        ("hyp.de", [0.85]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_printed_scores(case: str, tmp_path: Path) -> None:
    content, expected = CASES[case]
    path = tmp_path / "a.txt"
    path.write_text(content, "utf-8")
    file = read_scores(path)
    assert (file.name, file.scores.tolist()) == expected


# JSON of `comet-score --to_json` -> system and scores.
JSON: dict[str, tuple[object, tuple[str, list[float]]]] = {
    "one system": (
        {"o/hyp.de": [{"src": "a", "mt": "b", "COMET": 0.5}, {"COMET": 1}]},
        ("hyp.de", [0.5, 1.0]),
    ),
    "with spans of errors": ({"h": [{"mt": "b", "COMET": 0.5, "errors": [{"start": 0}]}]}, ("h", [0.5])),
    "of version 1.0": ([{"src": "a", "COMET": 0.5}, {"src": "b", "COMET": 1.0}], ("a", [0.5, 1.0])),
    "with dropout": ({"h": [{"COMET": 0.5, "variance": 0.01, "mcd_scores": [0.4, 0.6]}]}, ("h", [0.5])),
}


@pytest.mark.parametrize("case", JSON)
def test_json_of_comet(case: str, tmp_path: Path) -> None:
    content, expected = JSON[case]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content), "utf-8")
    file = read_scores(path)
    assert (file.name, file.scores.tolist()) == expected


TASK_2020 = (
    "123456\n560000000\n3\n"
    "en-de\tMine\tgap\t0\t0\t<gap>\tOK\nen-de\tMine\tmt\t0\t0\tes\tBAD\nen-de\tMine\tgap\t0\t1\t<gap>\tBAD\n"
    "en-de\tMine\tsource\t0\t0\tit\tOK\nen-de\tMine\tsource\t0\t1\trains\tBAD\n"
    "en-de\tMine\tgap\t1\t0\t<gap>\tOK\nen-de\tMine\tsource\t1\t0\tno\tOK\n"
)
# Content, layout -> tags of the segments (1: BAD).
SUBMISSIONS: dict[str, tuple[str, Layout, list[list[int]]]] = {
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
}  # fmt: skip


@pytest.mark.parametrize("case", SUBMISSIONS)
def test_submissions(case: str, tmp_path: Path) -> None:
    content, layout, expected = SUBMISSIONS[case]
    path = tmp_path / "submission"
    path.write_text(content, "utf-8")
    assert is_word_submission(path)
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
