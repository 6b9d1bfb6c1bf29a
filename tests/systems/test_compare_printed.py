"""What `qe compare` and `qe rank` print of tables of scores, with segments that lack scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.factories import prints, ran


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: Any) -> None:
    """Two systems of 30 segments: outputs, tables of scores, output of comet-score."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    words, names = np.array(["a", "b", "c", "d"]), ("x", "y")
    for name in ("ref", "x", "y"):
        lines = (" ".join(rng.choice(words, 4 + i % 5)) for i in range(30))
        Path(f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    scores = {name: rng.normal(i, 1, 30).round(3) for i, name in enumerate(names)}
    rows = [f"{name}\t{i + 1}\t{scores[name][i]}\t{9 - scores[name][i]}" for name in names for i in range(30)]
    header = "system\tsegment\tcomet\tter"
    Path("table.tsv").write_text("\n".join([header, *rows]) + "\n")
    Path("part.tsv").write_text("\n".join([header, *rows[2:-1]]) + "\n")


TEXTS = "--references ref.txt --system x=x.txt --system y=y.txt --metrics bleu"
RENAMED = "--references ref.txt --system one=x.txt --system two=y.txt --metrics bleu"


@pytest.mark.parametrize(
    ("command", "code", "contained", "absent"),
    [
        (f"compare {TEXTS} --scores table.tsv", 0, ["comet ↑", "TER ↓", "BLEU ↑"], []),
        (f"compare {TEXTS} --scores part.tsv", 0,
         ["comet: 3 of 30 segments lack a score (x: 2, y: 1) and are left out"], []),
        (f"compare {RENAMED} --scores table.tsv", 2,
         ["'comet' scores the systems x, y, and not 'one'", "joined by their names"], []),
        (f"compare {TEXTS} --ranks --margin bleu=1 --bucket length --latex", 0,
         [r"\caption{BLEU of 30 segments; differences: system minus x.", r"\label{tab:bleu-of-30-segments}",
          r"\label{tab:ranks-simultaneous-bootstrap}", r"\caption{Equivalence", r"\label{tab:by-"],
         ["undefined", "ranks by", "within 1"]),
        ("rank table.tsv", 2, ["systems are compared by scores with `qe compare --scores FILE`"], ["_a"]),
    ],
)  # fmt: skip
def test_what_is_printed(
    command: str, code: int, contained: list[str], absent: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    prints(command + " --samples 100" * (code == 0), contained, absent, code)


def test_plots_have_every_kind_that_is_asked_for() -> None:
    drawn = "--bucket length --samples 100 --output out --plots svg pdf png"
    ran(*f"compare {TEXTS.replace('bleu', 'length')} {drawn}".split())
    assert {path.suffix for path in Path("out").glob("runs.*")} == {".png", ".svg", ".pdf"}
    assert Path("out/by-1-length.svg").is_file()
