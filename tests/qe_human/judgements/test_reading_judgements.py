"""Files of judgements: the three formats say the same, bad rows are told with file and line."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qe_human.judgements.collection import JudgedPair
from qe_human.judgements.reading import chosen_pairs, read_judgements
from tests.factories import refuses

PLACES = range(1, 6)
HEADER = ",".join(
    ["srclang", "trglang", "srcIndex", "documentId", "segmentId", "judgeId"]
    + [f"system{k}{what}" for k in PLACES for what in ("Number", "Id")]
    + [f"system{k}rank" for k in PLACES]
)
Task = tuple[str, str, list[str], list[int]]  # segment, judge, systems, ranks
TASKS: list[Task] = [
    ("1", "anna", ["a", "b", "c", "_ref", "d"], [1, 2, 2, 1, -1]),
    ("2", "anna", ["b", "a", "a", "c", "d"], [3, 1, 2, 3, 5]),
    ("2", "bert", ["b", "a", "d", "c", "_ref"], [4, 4, 5, 3, 1]),
]


def wmt_row(task: Task, pair: tuple[str, str] = ("Czech", "English")) -> str:
    segment, judge, systems, ranks = task
    shown = [cell for number, name in enumerate(systems, start=1) for cell in (str(number), name)]
    return ",".join([*pair, segment, "doc", segment, judge, *shown, *map(str, ranks)])


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def table_lines(tasks: list[Task]) -> list[str]:
    lines = ["source_language\ttarget_language\tsegment\tjudge\tsystem\trank"]
    for segment, judge, systems, ranks in tasks:
        ranked = zip(systems, ranks, strict=True)
        lines += [f"Czech\tEnglish\t{segment}\t{judge}\t{system}\t{rank}" for system, rank in ranked]
    return lines


def read_one(path: Path) -> JudgedPair:
    (pair,) = read_judgements([path]).values()
    return pair


def counted(tasks: list[Task]) -> dict[tuple[str, str], list[int]]:
    """Wins and ties by a loop over pairs of places."""
    table: dict[tuple[str, str], list[int]] = {}
    for _, _, systems, ranks in tasks:
        for (a, x), (b, y) in combinations(zip(systems, ranks, strict=True), 2):
            if a == b or x < 0 or y < 0:
                continue
            better, worse = (a, b) if x <= y else (b, a)
            table.setdefault((better, worse), [0, 0])[1 if x == y else 0] += 1
            if x == y:
                table.setdefault((worse, better), [0, 0])[1] += 1
    return table


def check(pair: JudgedPair, tasks: list[Task]) -> None:
    counts = pair.counts
    expected = counted(tasks)
    assert counts.systems == tuple(sorted({name for key in expected for name in key}))
    for i, a in enumerate(counts.systems):
        for j, b in enumerate(counts.systems):
            assert [counts.wins[i, j], counts.ties[i, j]] == expected.get((a, b), [0, 0]), (a, b)


def test_wmt_csv(tmp_path: Path) -> None:
    pair = read_one(write(tmp_path / "judged.csv", [HEADER, *map(wmt_row, TASKS)]))
    assert pair.name == "Czech-English"
    check(pair, TASKS)
    assert pair.comparisons is not None and pair.comparisons.tasks == 3
    assert len(np.unique(pair.comparisons.segment)) == 2 and len(np.unique(pair.comparisons.judge)) == 2
    assert pair.notes == ("1 comparisons of a system with itself say nothing",)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("123"), st.sampled_from("xyz"),
            st.lists(st.sampled_from("abcdef"), min_size=5, max_size=5),
            st.lists(st.sampled_from([-1, 1, 2, 3, 4, 5]), min_size=5, max_size=5),
        ),
        min_size=1,
        max_size=12,
    )
)  # fmt: skip
def test_the_three_formats_say_the_same(tmp_path_factory: pytest.TempPathFactory, tasks: list[Task]) -> None:
    folder = tmp_path_factory.mktemp("judged")
    tasks = [(f"{i}-{segment}", judge, s, r) for i, (segment, judge, s, r) in enumerate(tasks)]
    wide = read_one(write(folder / "wide.csv", [HEADER, *map(wmt_row, tasks)]))
    long = read_one(write(folder / "long.tsv", table_lines(tasks)))
    check(wide, tasks)
    check(long, tasks)
    if wide.counts.total == 0:
        refuses("no two systems of Czech-English are compared", chosen_pairs, {wide.name: wide}, [])
        return
    counts = wide.counts
    rows = [
        f"{a} {b} {counts.wins[i, j]} {counts.ties[i, j]} {counts.wins[j, i]}"
        for i, a in enumerate(counts.systems)
        for j, b in enumerate(counts.systems)
        if i != j
    ]
    bare = read_one(write(folder / "wmt99.Czech-English", rows))
    assert bare.name == "wmt99.Czech-English" and bare.comparisons is None
    check(bare, tasks)


def test_counts_with_a_header_name_their_pair(tmp_path: Path) -> None:
    lines = ["system_a,system_b,wins,ties,losses,source_language,target_language", "a,b,3,1,2,German,English"]
    pair = read_one(write(tmp_path / "counts.csv", lines))
    assert pair.name == "German-English" and pair.counts.wins.tolist() == [[0, 3], [2, 0]]
    assert "no rank ranges" in pair.notes[0]


def test_a_table_may_tell_tasks_apart(tmp_path: Path) -> None:
    """Without `task`, both rankings of segment 1 by anna would be one."""
    rows = [("1", "a", 1), ("1", "b", 2), ("2", "a", 5), ("2", "c", 3)]
    lines = ["task,source_language,target_language,segment,judge,system,rank"]
    lines += [f"{task},Czech,English,1,anna,{system},{rank}" for task, system, rank in rows]
    pair = read_one(write(tmp_path / "judged.csv", lines))
    assert pair.comparisons is not None and pair.comparisons.tasks == 2
    assert pair.counts.total == 2  # b and c never met


def test_several_files_and_pairs(tmp_path: Path) -> None:
    other = wmt_row(("7", "carl", list("abcde"), [1, 2, 3, 4, 5]), ("English", "Czech"))
    first = write(tmp_path / "1.csv", [HEADER, wmt_row(TASKS[0]), other])
    second = write(tmp_path / "2.tsv", table_lines(TASKS[1:]))
    judged = read_judgements([first, second])
    assert list(judged) == ["Czech-English", "English-Czech"]
    check(judged["Czech-English"], TASKS)
    assert judged["English-Czech"].counts.total == 10
    assert list(chosen_pairs(judged, ["English-Czech"])) == ["English-Czech"]
    message = "no judgements of 'English-Chech'.*did you mean 'English-Czech'"
    refuses(message, chosen_pairs, judged, ["English-Chech"])


def test_places_left_empty_and_systems_never_compared(tmp_path: Path) -> None:
    """Combination tasks of WMT 2011 fill up with system 0 named `blank`."""
    filled = wmt_row(("1", "anna", ["a", "b", "c", "blank", "blank"], [1, 2, 3, -1, -1]))
    filled = filled.replace(",4,blank,5,blank", ",0,blank,0,blank")
    alone = wmt_row(("2", "anna", ["a", "z", "b", "c", "_ref"], [1, -1, -1, -1, -1]))
    pair = read_one(write(tmp_path / "judged.csv", [HEADER, filled, alone]))
    assert pair.counts.systems == ("a", "b", "c")
    assert pair.notes == (
        "shown, but compared with no other system: _ref, z",
        "1 of 2 tasks compare no two systems",
    )
