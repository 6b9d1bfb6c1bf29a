"""Given files with numbers beyond every type, digits of other scripts, and brackets without an end."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qe
from features.basics.errors import InputError
from features.core.segments import Segments
from features.nbest import hypotheses
from features.syntax.trees import Trees
from qe.data.formats.tables import read_table
from qe.data.reading import Reading
from qe.data.score_files import read_scores, read_submission
from qe_human.judgements.reading import read_judgements
from qe_human.metric_evaluation.reading import from_tables
from qe_papers.moses import nbest_column, trace_column
from tests.factories import refuses

HUGE, DEEP = "9" * 5000, "[" * 100_000


def table(path: Path) -> None:
    read_table(Reading(path.parent), path)


def judged(path: Path) -> None:
    from_tables(path, None, [str(path)], None, [])


# name of a file, its content, its reader, what is said
FILES: list[tuple[str, str, Callable[[Path], object], str]] = [
    ("a", f"{HUGE} ||| a ||| -1 ||| -1\n", lambda path: nbest_column(path, 1), "whole number"),
    ("a", f"0 ||| a ||| -1 ||| -1 ||| {HUGE}=0\n", lambda path: nbest_column(path, 1), "whole number"),
    ("a", f"A |0-{HUGE}|\n", trace_column, "whole number"),
    ("a", f"m\t1\t0.5\t{10**20}\n", read_submission, "expected METHOD"),
    ("C-E.csv", f"system_a,system_b,wins,ties,losses\nx,y,{10**20},2,5\n", lambda p: read_judgements([p]),
     "not a whole number from 0"),
    ("a.jsonl", f'{{"a": {HUGE}}}\n', table, "a.jsonl:1: "),
    ("a", "0.5\n1.7e308\n", lambda path: read_scores(path), "a:2: .* is 1.7e308, too large"),
    ("a.tsv", "system\tsegment\tscore\nA\t1\t-1.7e308\n", judged,
     "is -1.7e308, too large"),
    ("a.jsonl", f'{{"a": {DEEP}\n', table, "a.jsonl:1: "),
]  # fmt: skip
ENTRIES = (
    DEEP,
    HUGE,
    '[{"text": "b", "scores": [1]}]',
    '[{"text": "b", "scores": {"a": 1}}]',
    '[{"text": "b", "phrases": 5}]',
    '[{"text": "b", "phrases": [["a", 1, 0, 1]]}]',
    '[{"text": "b", "phrases": [[0, 99999999999999999999, 0, 1]]}]',
    '[{"text": "b", "search": {"nodes": "x"}}]',
    '[{"text": "b", "score": true}]',
)


@pytest.mark.parametrize(("name", "content", "read", "says"), FILES)
def test_a_file(name: str, content: str, read: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    refuses(says, read, tmp_path / name)


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_of_nbest(entry: str) -> None:
    refuses("segment '1', nbest", hypotheses, Segments(("a",), ("b",), nbest=(entry,)))


@pytest.mark.parametrize("head", [HUGE, "²", "٣"])
def test_a_head(head: str) -> None:
    block = f"1\ta\ta\tN\tN\t_\t{head}\tdep\t_\t_"
    refuses("head of a word must be 0 to 1", Trees.from_dependencies, [block])


def test_a_task_of_one_system(tmp_path: Path) -> None:
    header = "source_language\ttarget_language\tsegment\tjudge\tsystem\trank"
    (tmp_path / "r.tsv").write_text(f"{header}\nCzech\tEnglish\t1\tj1\tx\t1\n")
    (pair,) = read_judgements([tmp_path / "r.tsv"]).values()
    assert pair.counts.total == 0


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x" * 50, "y"]}), path)
    table(path)
    content = bytearray(path.read_bytes())
    content[10] ^= 255
    path.write_bytes(content)
    refuses(r"a\.parquet: ", table, path)
    pq.write_table(pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"]), path)
    refuses(r"a\.parquet", table, path)


def test_labels_and_predictions_whose_squares_are_no_numbers() -> None:
    rows = pd.DataFrame({"source": ["a", "b"], "target": ["A", "B"], "da": [0.5, -1.7e308]})
    languages = {"source_language": "en", "target_language": "es"}
    with pytest.raises(InputError, match=r"'train':row 2: the label 'da' is -1.7e\+308, too large"):
        qe.Dataset.from_frame(rows, "da", higher_is_better=True, **languages)
    with pytest.raises(InputError, match=r"segment 3 of .* is 1.7e\+308, beyond 1e\+100"):
        qe.evaluate([1.0, 2.0, 3.0, 4.0], {"m": [1.0, 2.0, 1.7e308, 4.0]}, higher_is_better=True)
