"""Two systems compared for a paper: scores, a table in LaTeX, power, and correlation with people."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories import qe

WORDS = ("the", "house", "is", "red", "a", "cat", "sleeps", "he", "reads", "book", "tree", "stands", "on")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder, chance = tmp_path_factory.mktemp("paper"), random.Random(1)
    references = [[chance.choice(WORDS) for _ in range(8)] for _ in range(60)]
    judged = ["system\tsegment\tscore"]
    for system, share in (("A", 0.1), ("B", 0.3)):
        lines = [[w if chance.random() > share else "x" for w in words] for words in references]
        (folder / f"{system}.txt").write_text("\n".join(map(" ".join, lines)) + "\n")
        judged += [f"{system}\t{i}\t{8 - words.count('x')}" for i, words in enumerate(lines, start=1)]
    (folder / "ref.txt").write_text("\n".join(map(" ".join, references)) + "\n")
    (folder / "human.tsv").write_text("\n".join(judged) + "\n")
    yield folder


@pytest.fixture(scope="module")
def compared(folder: Path) -> str:
    systems = ("--system", f"A={folder / 'A.txt'}", "--system", f"B={folder / 'B.txt'}")
    done = qe("compare", "--references", folder / "ref.txt", *systems, "--samples", 500, "--latex", "--power",
              "--output", folder / "compared")  # fmt: skip
    assert done.code == 0
    return done.out


def test_every_table_has_a_label_and_a_caption(compared: str) -> None:
    assert compared.count(r"\begin{table}") == compared.count(r"\label{tab:") == 2
    assert compared.count(r"\caption{") == 2 and "difference, 95 \\%" in compared
    assert r"s\_sel: spread with other segments" in compared and r"s\_test" not in compared
    assert "segments needed" in compared and "differences: system minus A" in compared


@pytest.mark.usefixtures("compared")
def test_correlate_reads_what_compare_wrote(folder: Path) -> None:
    done = qe("correlate", "--human", folder / "human.tsv", "--metrics", folder / "compared" / "segments.tsv",
              "--samples", 500)  # fmt: skip
    printed = done.out + done.err
    assert done.code == 0 and "lower is better, known by name: ter" in printed
    assert "run  " not in printed and "fewer than 7 systems: tests exchange segments" in printed


def test_rank_points_to_compare(folder: Path) -> None:
    done = qe("rank", folder / "human.tsv")
    assert done.code == 2 and "systems are compared by scores with `qe compare --scores FILE`" in done.err


@pytest.mark.parametrize(("wrong", "right"), [("bleuu", "bleu"), ("chrff", "chrf")])
def test_a_misspelt_metric_is_told_the_nearest(wrong: str, right: str, folder: Path) -> None:
    done = qe("compare", "--references", folder / "ref.txt", "--system", f"A={folder / 'A.txt'}",
              "--metrics", wrong)  # fmt: skip
    assert done.code == 2 and f"did you mean '{right}'" in done.err
