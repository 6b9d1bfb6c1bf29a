"""Data of the WMT tasks: layouts against the published sizes and in variants, catastrophic errors, MQM."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data.check import check, guess_format
from qe.data.format import make_format
from qe.data.labels import hter
from tests.factories import Find

KEYS = {"source_language": "en", "target_language": "de"}
FILES = {
    "train.src": "a b\nc\n",
    "train.mt": "x y\nz\n",
    "train.pe": "x\nz\n",
    "train.tags": "OK OK OK BAD OK\nOK OK OK\n",
    "train.source_tags": "OK BAD\nOK\n",
    "train.src-mt.alignments": "0-0\n\n",
    "test.2016.src": "a\n",
    "test.2016.mt": "x\n",
}


def folder_with(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_wmt18_equals_its_published_sizes(shared_data: Find) -> None:
    folder = shared_data("wmt18-qe/en-de.smt")
    assert guess_format(folder) == "wmt_qe"
    dataset = make_format("wmt_qe", KEYS).read(folder)
    train, dev = dataset.splits["train"], dataset.splits["dev"]
    assert (len(train), len(dev)) == (26_299, 1_000)  # the data's README
    assert dev.scores is None and dev.word_tags is None and dev.segments.alignment is not None
    assert train.scores is not None and train.post_edit is not None and train.reference is not None
    assert train.word_tags is not None and train.source_tags is not None
    first = train.take(range(500))
    assert first.post_edit is not None and first.scores is not None
    post_edits = first.segments.target_tokenizer.tokens(first.post_edit)
    computed = np.minimum(hter(first.segments.target_tokens, post_edits), 1)
    assert np.mean(np.abs(computed - first.scores) < 1e-6) > 0.9  # tercom's heuristics differ now and then


def test_splits_labels_and_columns(tmp_path: Path) -> None:
    dataset = make_format("wmt_qe", KEYS).read(folder_with(tmp_path, FILES))
    train, test = dataset.splits["train"], dataset.splits["test.2016"]
    assert train.scores is not None and train.scores.tolist() == [1.0, 0.0]  # computed: no .hter
    assert train.word_tags == ("OK OK OK BAD OK", "OK OK OK") and train.source_tags == ("OK BAD", "OK")
    assert test.labels() == {}


def test_a_folder_per_split_and_gzip(tmp_path: Path) -> None:
    folder_with(tmp_path, {f"{name.split('.')[0]}/{name}": text for name, text in FILES.items()})
    for path in [*tmp_path.glob("train/*")]:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    dataset = make_format("wmt_qe", KEYS).read(tmp_path)
    assert {name: len(split) for name, split in dataset.splits.items()} == {"test.2016": 1, "train": 2}


def test_the_file_of_scores_stands_before_computed_ones(tmp_path: Path) -> None:
    dataset = make_format("wmt_qe", KEYS).read(folder_with(tmp_path, {**FILES, "train.hter": "0.5\n0.25\n"}))
    scores = dataset.splits["train"].scores
    assert scores is not None and scores.tolist() == [0.5, 0.25]


def test_tags_of_words_alone_are_left_out_with_a_note(tmp_path: Path) -> None:
    dataset = make_format("wmt_qe", KEYS).read(folder_with(tmp_path, {**FILES, "train.tags": "OK BAD\nOK\n"}))
    assert dataset.splits["train"].word_tags is None
    assert "train.tags: tags of words without gaps (left out)" in dataset.notes


def test_blind_tables_need_no_tags(tmp_path: Path) -> None:
    folder_with(
        tmp_path,
        {"a.tsv": "source\ttarget\thter\ttags\na\tx\t0\tOK OK OK\n", "b.tsv": "source\ttarget\na\tx\n"},
    )
    keys = {**KEYS, "label": "hter", "splits": {"train": "a.tsv", "test": "b.tsv"}, "blind": ["test"]}
    columns = {"scores": "hter", "word_tags": "tags", "source_tags": "tags"}
    dataset = make_format("table", {**keys, "columns": columns}).read(tmp_path)
    assert dataset.splits["test"].labels() == {} and dataset.splits["train"].word_tags is not None


# Files beside the folder's own -> the splits that are read.
BESIDE: dict[str, tuple[dict[str, str], list[str]]] = {
    "AppleDouble files": ({"._train.src": "\0\5", "._train.mt": "\0"}, ["test.2016", "train"]),
    "AppleDouble folder": ({"._x/a.src": "a\n", "._x/a.mt": "b\n"}, ["test.2016", "train"]),
    "a blind folder": (
        {"test/test.src": "a\n", "test/test.mt": "b\n", "test/test.hter": "0.5\n"}
        | {"test-blind/test.src": "a\n", "test-blind/test.mt": "b\n"},
        ["test", "test.2016", "train"],
    ),
    "a blind split": (
        {"test.src": "a\n", "test.mt": "b\n", "test.hter": "0.5\n"}
        | {"test-blind.src": "a\n", "test-blind.mt": "b\n"},
        ["test", "test.2016", "train"],
    ),
    "a blind split alone": (
        {"test_blind.src": "a\n", "test_blind.mt": "b\n"},
        ["test.2016", "test_blind", "train"],
    ),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_lies_beside_the_splits(case: str, tmp_path: Path) -> None:
    files, expected = BESIDE[case]
    folder_with(tmp_path, {**FILES, **files})
    dataset = make_format("wmt_qe", KEYS).read(tmp_path)
    assert sorted(dataset.splits) == expected
    if "test" in expected:
        scores = dataset.splits["test"].scores
        assert scores is not None and scores.tolist() == [0.5]


TRAIN = '1\tit "rains"\tes regnet\t[0, 0, 2]\tNOT\n2\tdo not go\tgehen Sie\t[1, 0, 1]\tERR\n'
# Files -> split -> sources and labels; or the words of the refusal.
ERRORS: dict[str, tuple[dict[str, str], dict[str, tuple[list[str], list[float] | None]]]] = {
    "train alone": ({"train": TRAIN}, {"train": (['it "rains"', "do not go"], [0.0, 1.0])}),
    "a blind test set": (
        {"train": TRAIN, "test_blind": "9\ta\tb\n"},
        {"train": (['it "rains"', "do not go"], [0.0, 1.0]), "test": (["a"], None)},
    ),
    "one with labels before the blind one": (
        {"train": TRAIN, "test_blind": "9\ta\tb\n", "test": "9\ta\tb\t[1, 1, 1]\tERR\n"},
        {"train": (['it "rains"', "do not go"], [0.0, 1.0]), "test": (["a"], [1.0])},
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_catastrophic_errors(case: str, tmp_path: Path) -> None:
    files, expected = ERRORS[case]
    for split, content in files.items():
        (tmp_path / f"ende_majority_{split}.tsv").write_text(content, "utf-8")
    read = make_format("catastrophic_errors", {"pair": "en-de"}).read(tmp_path)
    found = {
        name: (list(split.segments.source), None if split.scores is None else split.scores.tolist())
        for name, split in read.splits.items()
    }
    assert found == expected
    assert read.scale.classes == ("NOT", "ERR") and not read.scale.higher_is_better


def test_the_folder_shows_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "ende_majority_train.tsv").write_text(TRAIN, "utf-8")
    report = check(tmp_path, None, {"pair": "en-de"})
    assert not report.unreadable and not report.defects


HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"


def row(target: str, category: str, severity: str, rater: str = "r1", seg: str = "1") -> str:
    return f"A\tnews\t1\t{seg}\t{rater}\tthe red house\t{target}\t{category}\t{severity}\n"


PLAIN = "das rot Haus"
# Rows, keys of the format -> score, and the tags of the three words.
MQM: dict[str, tuple[list[str], dict[str, Any], tuple[float, str]]] = {
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
}  # fmt: skip


@pytest.mark.parametrize("case", MQM)
def test_a_segment(case: str, tmp_path: Path) -> None:
    rows, keys, expected = MQM[case]
    path = tmp_path / "mqm.tsv"
    marked = row("x <v>y</v>", "A", "Minor", seg="2")  # so that there are tags
    path.write_text(HEADER + "".join(rows) + marked, "utf-8")
    split = make_format("mqm", {**KEYS, **keys}).read(path).splits["train"]
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
