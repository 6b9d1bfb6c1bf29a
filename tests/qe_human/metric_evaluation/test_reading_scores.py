"""Scores from tables, rankings, Appraise and mt-metrics-eval; what is bad is told with file and line."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data.score_tables import ScoreTable
from qe_human.metric_evaluation.reading import (
    from_metrics_eval,
    from_rankings,
    from_tables,
    human_of,
    made_metrics,
    read_human_table,
)
from tests.factories import Find, refuses

NAN = float("nan")


def same(actual: Any, expected: Any) -> bool:
    return np.array_equal(np.array(actual, float), np.array(expected, float), equal_nan=True)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return write(tmp_path / "human.tsv", "system\tsegment\tscore\na\t1\t5\na\t2\t3\nb\t1\t\nb\t2\t1\n")


def test_tables_meet_by_system_and_segment(people: Path, tmp_path: Path) -> None:
    """Other orders, more systems and segments, missing scores, signs."""
    metrics = write(
        tmp_path / "m.tsv",
        "segment\tsystem\tbleu\tter\tcomment\n2\tb\t20\t0.6\tx\n1\ta\t50\t0.2\tx\n2\ta\t40\tNone\tx\n"
        "1\tb\t30\t0.4\tx\n3\ta\t10\t0.9\tx\n1\tc\t1\t1\tx\n",
    )
    made = from_tables(people, None, [str(metrics)], None, ["ter"])
    assert made.human.systems == ("a", "b") and made.human.segments == ("1", "2", "3")
    assert same(made.human.scores, [[5, NAN], [3, 1], [NAN, NAN]])
    bleu, ter = made.metrics
    assert (bleu.name, ter.name) == ("bleu", "ter")
    assert same(bleu.scores, [[50, 30], [40, 20], [10, NAN]])
    assert same(ter.scores, [[-0.2, -0.4], [NAN, -0.6], [-0.9, NAN]])
    assert any("systems that nobody judged: c" in note for note in made.notes)
    assert made.human.of_systems() == pytest.approx([4, 1])


def test_one_file_per_system_and_several_judges(tmp_path: Path) -> None:
    people = write(
        tmp_path / "human.csv",
        "system,id,judge,adequacy,fluency\na,1,x,5,1\na,1,y,4,1\nb,1,x,2,1\nb,1,y,,1\n",
    )
    values = {"a": "0.1", "b": "0.5"}
    tables = {s: write(tmp_path / f"{s}.tsv", "id\thter\n1\t" + v + "\n") for s, v in values.items()}
    files = [f"{system}={path}" for system, path in tables.items()]
    made = from_tables(people, "adequacy", files, None, ["hter"])
    assert same(made.human.scores, [[4.5, 2]])
    assert same(made.metrics[0].scores, [[-0.1, -0.5]])


def test_one_score_per_line(tmp_path: Path) -> None:
    people = write(tmp_path / "effort", "3\n4.5\n")
    metric = write(tmp_path / "m.csv", "id,hter\n2,.1\n1,.3\n")
    made = from_tables(people, None, [str(metric)], None, ["hter"])
    assert same(made.human.scores, [[3], [4.5]]) and same(made.metrics[0].scores, [[-0.3], [-0.1]])


# What comet-score prints, or writes with --to_json -> the name of the metric.
COMET = {
    "comet.txt": (
        "out/a\tSegment 0\tscore: 0.5\nout/b\tSegment 0\tscore: 0.7\nout/a\tSegment 1\tscore: 0.25\n"
        "out/b\tSegment 1\tscore: 0.1\nout/a\tscore: 0.375\nout/b\tscore: 0.4\n",
        "comet",
    ),
    "scores.json": (
        '{"out/a": [{"src": "x", "mt": "y", "COMET": 0.5}, {"src": "x", "mt": "y", "COMET": 0.25}], '
        '"out/b": [{"src": "x", "mt": "y", "COMET": 0.7}, {"src": "x", "mt": "y", "COMET": 0.1}]}',
        "COMET",
    ),
}


@pytest.mark.parametrize("name", COMET)
def test_files_of_comet_score_name_their_systems(name: str, people: Path, tmp_path: Path) -> None:
    content, metric = COMET[name]
    path = write(tmp_path / name, content)
    made = from_tables(people, None, [str(path)], None, [])
    assert [each.name for each in made.metrics] == [metric]
    assert same(made.metrics[0].scores, [[0.5, 0.7], [0.25, 0.1]])
    message = "has the systems a, b, and is given as that of 'c'"
    refuses(message, from_tables, people, None, [f"c={path}"], None, [])


def test_scores_of_whole_systems(people: Path, tmp_path: Path) -> None:
    """Given apart they are kept, unless they are the means of the segment scores but for rounding."""
    whole = write(tmp_path / "sys.tsv", "system\tbleu\na\t31.5\nb\t20\n")
    made = from_tables(people, None, [str(whole)], None, [])
    assert made.metrics[0].scores is None and same(made.metrics[0].systems, [31.5, 20])
    segments = write(tmp_path / "seg.tsv", "system\tsegment\tbleu\na\t1\t31\na\t2\t32\nb\t1\t18\nb\t2\t22\n")
    made = from_tables(people, None, [str(whole), str(segments)], None, [])
    assert made.metrics[0].systems is None and made.metrics[0].scores is not None


RANKED = "source_language,target_language,segment,judge,system,rank\n" + "".join(
    f"Czech,English,{segment},{judge},{system},{rank}\n"
    for segment, judge, ranks in ((7, "x", "a1b2_ref1"), (7, "y", "a2b1"), (9, "x", "a1b3c3"))
    for system, rank in [(r[:-1], r[-1]) for r in re.findall(r"[a-z_]+\d", ranks)]
)


def test_rankings_become_preferences(tmp_path: Path) -> None:
    ranked = write(tmp_path / "ranks.csv", RANKED)
    rows = "a\t7\t1\nb\t7\t0\na\t9\t1\nb\t9\t0\nc\t9\t0\nc\t8\t3\n"
    scores = [str(write(tmp_path / "m.tsv", f"system\tsegment\tm\n{rows}"))]
    made = from_rankings([ranked], None, scores, None, [], "expected_wins", "_ref")
    judged = made.human.preferences
    assert made.name == "Czech-English" and judged is not None
    assert made.human.systems == ("a", "b", "c") and made.human.segments == ("7", "9", "8")
    told = sorted(zip(judged.segment, judged.first, judged.second, judged.outcome, strict=True))
    assert told == [(0, 0, 1, -1), (0, 0, 1, 1), (1, 0, 1, 1), (1, 0, 2, 1), (1, 1, 2, 0)]
    # a beats b in 2 of 3 and c in 1 of 1 decided judgements
    assert made.human.of_systems()[0] == pytest.approx((2 / 3 + 1) / 2)


def write_metrics_eval(root: Path) -> Path:
    write(root / "sources/en-de.txt", "one\ntwo\nthree\n")
    write(root / "references/en-de.refA.txt", "eins\nzwei\ndrei\n")
    write(root / "human-scores/en-de.mqm.seg.score", "".join(
        f"{system}\t{score}\n" for system, scores in
        (("good", (-1, "None", 0)), ("bad", (-5, -4, -3)), ("refA", (0, 0, 0))) for score in scores
    ))  # fmt: skip
    write(root / "human-scores/en-de.mqm.sys.score", "good\t-0.5\nbad\t-4\nrefA\t0\n")
    write(root / "metric-scores/en-de/BLEU-refA.seg.score", "".join(
        f"{system} {score}\n"
        for system, scores in (("good", (3, 4, 5)), ("bad", (1, 2, 0))) for score in scores
    ))  # fmt: skip
    write(root / "metric-scores/en-de/BLEU-refA.sys.score", "good 4.4\nbad 1.1\n")
    write(root / "metric-scores/en-de/QE-src.seg.score", "good 1\n" * 3 + "bad 0\n" * 3 + "refA 1\n" * 3)
    write(root / "metric-scores/en-de/QE-src.domain.score", "news good 1\n")
    return root


def test_folders_of_mt_metrics_eval(tmp_path: Path) -> None:
    """The layout of its README: levels, None, references that are no systems."""
    folder = write_metrics_eval(tmp_path / "wmt99")
    made = from_metrics_eval(folder, None, None, None, [])
    assert made.name == "wmt99 en-de" and made.human.systems == ("good", "bad")
    assert same(made.human.scores, [[-1, -5], [NAN, -4], [0, -3]])
    assert same(made.human.system_scores, [-0.5, -4])
    bleu, qe = made.metrics
    assert (bleu.name, qe.name) == ("BLEU-refA", "QE-src")
    assert same(bleu.scores, [[3, 1], [4, 2], [5, 0]]) and same(bleu.systems, [4.4, 1.1])
    assert same(qe.systems, [1, 0])  # means of all segments, as it has no file of system scores
    assert made.notes[1:3] == (
        "scores of systems: sys.score files, not means of the judged segments",
        "'QE-src' has no sys.score file: its scores of systems are means of all segments",
    )
    assert "references are no systems here: refA" in made.notes
    kept = from_metrics_eval(folder, "en-de", "mqm", ["QE"], [], references=True)
    assert kept.human.systems == ("good", "bad", "refA") and [m.name for m in kept.metrics] == ["QE-src"]
    assert kept.human.system_scores is None and kept.metrics[0].systems is None  # no metric has such a file


def test_names_that_join_with_nothing_are_told() -> None:
    """Half of the ids are written with zeros before them: half of the rows would be lost in silence."""
    judged = ScoreTable("human", {("A", str(i)): float(i) for i in range(60)})
    written = {("A", f"{i:02}" if i < 10 else str(i)): float(i) for i in range(60)}
    metric = ScoreTable("m", written)
    _, notes = made_metrics([metric], human_of(judged, [metric]), ())
    assert notes == [
        "'m' has no score for 10 of 60 judged translations, and 10 scores of segments that nobody judged, "
        "such as '00': segments are joined by their exact names; '00' differs from a judged "
        "one only in zeros before it"
    ]
    more = ScoreTable("m", {**judged.segments, ("A", "z"): 1.0})
    assert made_metrics([more], human_of(judged, [more]), ())[1] == []


# Lines, column -> (system, segment) -> score.
CASES: dict[str, tuple[str, str | None, dict[tuple[str, str], float]]] = {
    "segments": (
        "u1,A,7,TGT,eng,deu,80\nu1,B,7,TGT,eng,deu,40\n", None, {("A", "7"): 80, ("B", "7"): 40},
    ),
    "two annotators": ("u1,A,7,TGT,eng,deu,80\nu2,A,7,TGT,eng,deu,60\n", None, {("A", "7"): 70}),
    "systems that share a translation": (
        "u1,A+B,7,TGT,eng,deu,80\n", None, {("A", "7"): 80, ("B", "7"): 80},
    ),
    "quality control": (
        "u1,A,7,TGT,eng,deu,80\nu1,A,7,CHK,eng,deu,10\nu1,A,7,BAD,eng,deu,1\nu1,r,7,REF,eng,deu,100\n",
        None,
        {("A", "7"): 80},
    ),
    "whole documents": (
        "u1,A,7,TGT,eng,deu,80,doc1,False,1.5,2.5\nu1,A,8,TGT,eng,deu,20,doc1,True,1.5,2.5\n",
        None,
        {("A", "7"): 80},
    ),
    "items of documents": (
        "u1,A,1,TGT,eng,deu,80,d1,False\nu1,A,1,TGT,eng,deu,20,d2,False\n",
        None,
        {("A", "d1:1"): 80, ("A", "d2:1"): 20},
    ),
    "standardised": (
        "u1,A,1,TGT,eng,deu,10\nu1,A,2,TGT,eng,deu,20\nu1,A,3,TGT,eng,deu,30\n"
        "u2,A,1,TGT,eng,deu,90\nu2,A,2,TGT,eng,deu,95\nu2,A,3,TGT,eng,deu,100\n",
        "z",
        {("A", "1"): -1, ("A", "2"): 0, ("A", "3"): 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_exports(case: str, tmp_path: Path) -> None:
    content, column, expected = CASES[case]
    path = write(tmp_path / "scores.csv", content)
    assert read_human_table(path, column).segments == pytest.approx(expected)


def test_a_pair_is_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", "u1,A,1,TGT,eng,deu,1\nu1,A,1,TGT,eng,ces,2\n")
    assert read_human_table(path, None, "eng-ces").segments == {("A", "1"): 2}


@pytest.mark.parametrize(("name", "count"), [("tutorial", 6), ("incomplete", 1)])
def test_tutorials_and_fillers_are_left_out(name: str, count: int, shared_data: Find) -> None:
    table = read_human_table(shared_data("cases/appraise") / f"{name}.csv", "z")
    assert {segment for _, segment in table.segments} == {"1", "2", "3", "4"} and len(table.segments) == 8
    assert str(count) in table.notes[0]
