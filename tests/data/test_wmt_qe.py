"""The layout of the WMT tasks: against the published sizes, and in its variants."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from qe.data.check import guess_format
from qe.data.format import make_format
from qe.data.labels import hter
from tests.factories import Find, refuses

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


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train.tags": "OK BAD\nOK OK OK\n"}, r"train.tags:1: expected 5 tags for 2 tokens, found 2"),
        ({"train.hter": "-1\n0\n"}, r"train.hter:1: the label 'hter' is -1"),
        ({"train.pe": "x\n"}, r"train.pe:1: ends after 1 lines, but .*train.src has 2"),
        ({"train.src_tags": "OK OK\nOK\n"}, r"train.src_tags: train.source_tags is there too"),
        ({"other/train.src": "a\n", "other/train.mt": "x\n"}, "the split 'train' is in .* too"),
    ],
)
def test_defects(tmp_path: Path, files: dict[str, str], message: str) -> None:
    refuses(message, make_format("wmt_qe", KEYS).read, folder_with(tmp_path, {**FILES, **files}))


def test_sources_alone_are_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no SPLIT.src with SPLIT.mt here"):
        make_format("wmt_qe", KEYS).read(folder_with(tmp_path, {"train.src": "a\n"}))


def test_blind_tables_need_no_tags(tmp_path: Path) -> None:
    folder_with(
        tmp_path,
        {"a.tsv": "source\ttarget\thter\ttags\na\tx\t0\tOK OK OK\n", "b.tsv": "source\ttarget\na\tx\n"},
    )
    keys = {**KEYS, "label": "hter", "splits": {"train": "a.tsv", "test": "b.tsv"}, "blind": ["test"]}
    columns = {"scores": "hter", "word_tags": "tags", "source_tags": "tags"}
    dataset = make_format("table", {**keys, "columns": columns}).read(tmp_path)
    assert dataset.splits["test"].labels() == {} and dataset.splits["train"].word_tags is not None


# Files beside the folder's own -> the splits that are read; None: refused.
BESIDE: dict[str, tuple[dict[str, str], list[str] | None]] = {
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
    "two pairs": ({"a/test.src": "a\n", "a/test.mt": "b\n", "b/test.src": "a\n", "b/test.mt": "b\n"}, None),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_lies_beside_the_splits(case: str, tmp_path: Path) -> None:
    files, expected = BESIDE[case]
    folder_with(tmp_path, {**FILES, **files})
    if expected is None:
        refuses("the split 'test' is in", make_format("wmt_qe", KEYS).read, tmp_path)
        return
    dataset = make_format("wmt_qe", KEYS).read(tmp_path)
    assert sorted(dataset.splits) == expected
    if "test" in expected:
        scores = dataset.splits["test"].scores
        assert scores is not None and scores.tolist() == [0.5]
