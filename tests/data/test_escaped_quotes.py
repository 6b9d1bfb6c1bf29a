"""CSV whose quotes are escaped by backslashes, ids from 0, and advice for predictions, from commands."""

from pathlib import Path
from typing import Any

import pytest

from qe.cli import main
from qe.data.delimited import Layout, dialect_of, text_lines


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (r'"a \"b\", c",d', [['a "b", c', "d"]]),
        ('"a \\"b\nc",d', [['a "b\nc', "d"]]),
        (r'"ends with \\",d', [["ends with \\", "d"]]),
        (r'"a ""b""",\n', [['a "b"', r"\n"]]),
    ],
)
def test_escaped_quotes_are_text(text: str, rows: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"one,two\n{text}\n")
    dialect = dialect_of(path, "csv", Layout(escape="\\"))
    found = [fields for _, fields in dialect.records(text_lines(path), path)]
    assert found == [["one", "two"], *rows]


ESCAPED = 'source,target,score\n"a \\"b\\", c","d \\"e\\" f",0.5\n"x y","z w",0.4\n'
SET = "--set source_language=en --set target_language=de --set columns.scores=score --set label.name=da"
SET += " --set label.higher_is_better=true"
GOLD = "id\tscore\n" + "".join(f"{i}\t0.{i}\n" for i in range(1, 10))
FROM_0 = "id\tscore\n" + "".join(f"{i - 1}\t0.{i}\n" for i in range(1, 10))
GAP = FROM_0.replace("8\t", "9\t")


@pytest.mark.parametrize(
    ("command", "code", "contained", "absent"),
    [
        (f"data check escaped.csv {SET}", 2, "(--escape '\\')", "quoting"),
        (f"data check escaped.csv {SET} --set escape=\\", 0, "quotes escaped by", "not valid CSV"),
        ("evaluate --gold gold.tsv --predictions from_0.tsv --samples 100", 0, "1.000", "has id"),
        ("evaluate --gold gold.tsv --predictions gap.tsv", 2, "segment 1 has id '0', but '1'", "1.000"),
        ("evaluate --gold gold.tsv --predictions nan.tsv", 2, "('NaN'); predict every segment", "no label"),
        ("evaluate --gold gold.tsv --predictions blank.tsv", 2, "missing; predict every segment", "blind"),
        ("evaluate --gold nan.tsv --predictions gold.tsv", 2, "leave out the segments", "predict every"),
    ],
)  # fmt: skip
def test_what_commands_print(
    command: str, code: int, contained: str, absent: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    nan, blank = GOLD.replace("0.4", "NaN"), GOLD.replace("0.4", "")
    files = {"gold": GOLD, "from_0": FROM_0, "gap": GAP, "nan": nan, "blank": blank}
    for name, text in files.items():
        Path(f"{name}.tsv").write_text(text)
    Path("escaped.csv").write_text(ESCAPED)
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert stopped.value.code == code, printed
    assert contained in printed and absent not in printed
