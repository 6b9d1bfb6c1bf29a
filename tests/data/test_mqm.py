"""MQM annotations: weights and word tags; a way of marking more is a line more."""

from pathlib import Path
from typing import Any

import pytest

from features.basics.errors import InputError
from qe.data.format import make_format
from tests.factories import refuses

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"


def row(target: str, category: str, severity: str, rater: str = "r1", seg: str = "1") -> str:
    return f"A\tnews\t1\t{seg}\t{rater}\tthe red house\t{target}\t{category}\t{severity}\n"


PLAIN = "das rot Haus"
# Rows, keys of the format -> score, and the tags of the three words; or the words of the refusal.
CASES: dict[str, tuple[list[str], dict[str, Any], tuple[float, str] | str]] = {
    "no error": ([row(PLAIN, "No-error", "No-error")], {}, (0.0, "OK OK OK")),
    "minor": ([row("das <v>rot</v> Haus", "Fluency/Grammar", "Minor")], {}, (-1.0, "OK BAD OK")),
    "major": ([row("das <v>rot Haus</v>", "Accuracy/Mistranslation", "Major")], {}, (-5.0, "OK BAD BAD")),
    "punctuation": ([row("das rot <v>Haus</v>", "Fluency/Punctuation", "minor")], {}, (-0.1, "OK OK BAD")),
    "non-translation": ([row("<v>das rot Haus</v>", "Non-translation!", "Major")], {}, (-25, "BAD BAD BAD")),
    "neutral": ([row("das <v>rot</v> Haus", "Style/Awkward", "Neutral")], {}, (0.0, "OK OK OK")),
    "a part of a word": ([row("das r<v>o</v>t Haus", "Fluency", "Minor")], {}, (-1.0, "OK BAD OK")),
    "two errors, two raters": (
        [row("<v>das</v> rot Haus", "A", "Minor"), row("das <v>rot</v> Haus", "B", "Major"),
         row(PLAIN, "No-error", "No-error", "r2")],
        {},
        (-3.0, "BAD BAD OK"),
    ),
    "six major ones": ([row("<v>das</v> rot Haus", "A", "Major")] * 6, {}, (-25.0, "BAD OK OK")),
    "another weight": (
        [row("<v>das</v> rot Haus", "Accuracy/Omission", "Major")],
        {"weights": {"major/accuracy": 10}},
        (-10.0, "BAD OK OK"),
    ),
    "a severity of one's own": (
        [row(PLAIN, "A", "Critical")], {"weights": {"critical": 10}}, (-10.0, "OK OK OK"),
    ),
    "unknown severity": (
        [row(PLAIN, "A", "Critical")], {}, r":2: no weight for the severity 'critical'; name it",
    ),
    "texts that differ": (
        [row(PLAIN, "A", "Minor"), row("das Haus", "A", "Minor")], {}, ":3: another text than in line 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_segment(case: str, tmp_path: Path) -> None:
    rows, keys, expected = CASES[case]
    path = tmp_path / "mqm.tsv"
    marked = row("x <v>y</v>", "A", "Minor", seg="2")  # so that there are tags
    path.write_text(HEADER + "".join(rows) + marked, "utf-8")
    form = make_format("mqm", {"source_language": "en", "target_language": "de", **keys})
    if isinstance(expected, str):
        refuses(expected, form.read, path)
        return
    split = form.read(path).splits["train"]
    assert split.scores is not None and split.word_tags is not None
    assert split.scores.tolist() == pytest.approx([expected[0], -1.0])
    assert split.segments.target[0] == PLAIN and "<v>" not in split.segments.target[1]
    assert split.word_tags[0].split()[1::2] == expected[1].split()
    assert set(split.word_tags[0].split()[0::2]) == {"OK"}


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ("docSegId\tglobalSegId", ("1\t7", "2\t8")),
        ("doc_seg_id\tglobal_seg_id", ("1\t7", "2\t8")),
        ("docSegId\tglobalSegId", ("1\t0", "2\t0")),  # no numbers across documents
    ],
)
def test_numbers_of_segments_by_other_names(names: str, numbers: tuple[str, str], tmp_path: Path) -> None:
    rows = [f"A\tnews\t{number}\tr1\tx\ty\tA\tMinor\t{{}}\n" for number in numbers]
    header = f"system\tdoc\t{names}\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
    (tmp_path / "a.tsv").write_text(header + "".join(rows))
    dataset = make_format("mqm", {"source_language": "en", "target_language": "de"}).read(tmp_path / "a.tsv")
    assert len(dataset.splits["train"]) == 2


def test_a_column_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("system\tsource\nA\tb\n")
    with pytest.raises(InputError, match=r"a\.tsv:1: no column 'doc'; MQM annotations have system, doc"):
        make_format("mqm", {"source_language": "en", "target_language": "de"}).read(tmp_path / "a.tsv")
