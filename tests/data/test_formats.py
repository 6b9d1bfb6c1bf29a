"""Dataset formats: the shared data against its published statistics, and every kind of bad input."""

import csv
import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.data.dataset import Dataset
from qe.data.format import FORMATS
from qe.data.reading import Reading
from tests.factories import Find, TempPaths, refuses

SCORE = {"name": "score", "low": 1, "high": 5, "higher_is_better": True}
FILES: dict[str, dict[str, str]] = {"train": {"source": "s", "target": "t", "scores": "y"}}


def write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read_text(folder: Path, **keys: Any) -> Dataset:
    settings = {"splits": FILES, "label": SCORE, "source_language": "en", "target_language": "es", **keys}
    return FORMATS.get("parallel_text")(**settings).read(folder)


def read_table(path: Path, **keys: Any) -> Dataset:
    columns = {"scores": "score"}
    settings = {"label": SCORE, "source_language": "en", "target_language": "es", "columns": columns, **keys}
    return FORMATS.get("table")(**settings).read(path)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write(tmp_path, s="a\nb\nc\n", t="A\nB\nC\n", y="1\n2.5\n5\n")


# What is in the shared data, against the statistics that came with it.


def test_wmt12_equals_its_published_statistics(shared_data: Find) -> None:
    data = FORMATS.get("wmt12")().read(shared_data("wmt12-qe"))
    train, test = data.splits["train"], data.splits["test"]
    assert (len(train), len(test)) == (1832, 422)
    assert train.scores is not None and train.judges is not None and train.weights is not None
    assert train.scores.mean() == pytest.approx(3.4455, abs=5e-5)
    assert train.scores.std() == pytest.approx(0.8750, abs=5e-5)
    assert np.bincount(train.judges.astype(int).ravel())[1:].tolist() == [97, 677, 1768, 2044, 910]
    assert np.abs((train.judges * train.weights).sum(axis=1) - train.scores).max() <= 0.05
    assert test.scores is None and test.post_edit is None
    assert train.segments.id[0] == "train-1" and test.segments.id[-1] == "test-422"
    assert (data.scale.low, data.scale.high, data.scale.higher_is_better) == (1, 5, True)
    assert train.segments.source_tokenizer.language == "en"
    assert train.segments.target_tokenizer.language == "es"
    assert sum("852 lines with trailing blanks" in note for note in data.notes) == 4
    assert not any(text.endswith(" ") for text in train.segments.source)


def test_wmt12_hter_from_post_edits(shared_data: Find) -> None:
    data = FORMATS.get("wmt12")(label="hter").read(shared_data("wmt12-qe"))
    train = data.splits["train"]
    assert train.scores is not None and train.post_edit is not None
    unedited = np.array([a == b for a, b in zip(train.segments.target, train.post_edit, strict=True)])
    assert not data.scale.higher_is_better and data.scale.low == 0 and data.scale.high is None
    assert unedited.sum() == 58 and (train.scores[unedited] == 0).all()
    effort = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"].scores
    assert effort is not None
    assert np.corrcoef(train.scores, effort)[0, 1] < -0.55  # QUALITY-NOTES: -.60


@pytest.mark.parametrize(
    ("pair", "split", "published"),
    [
        ("en-de", "train", (85.97, 11.10, -0.008, 0.836, 0.178, 2282)),
        ("en-de", "dev", (80.56, 15.45, -0.049, 0.746, 0.183, 303)),
        ("ro-en", "train", (68.89, 27.64, 0.012, 0.964, 0.346, 734)),
        ("ro-en", "dev", (67.60, 26.58, -0.052, 0.955, 0.195, 320)),
    ],
)
def test_mlqe_pe_equals_its_published_statistics(
    shared_data: Find, pair: str, split: str, published: tuple[float, ...]
) -> None:
    mean, sd, z_mean, z_sd, hter, zero = published
    folder = shared_data("mlqe-pe")
    da, raw, edits = (
        FORMATS.get("mlqe_pe")(pair=pair, label=label).read(folder) for label in ("da", "da_mean", "hter")
    )
    values = [data.splits[split].scores for data in (da, raw, edits)]
    assert all(v is not None for v in values)
    z, m, h = (np.asarray(v) for v in values)
    assert (len(z), len(m), len(h)) == ((7000,) * 3 if split == "train" else (1000,) * 3)
    assert (m.mean(), m.std()) == (pytest.approx(mean, abs=6e-3), pytest.approx(sd, abs=6e-3))
    assert (z.mean(), z.std()) == (pytest.approx(z_mean, abs=6e-4), pytest.approx(z_sd, abs=6e-4))
    assert (h.mean(), (h == 0).sum()) == (pytest.approx(hter, abs=6e-4), zero)
    assert da.splits["test20"].scores is None and len(da.splits["test20"]) == 1000
    assert [d.scale.higher_is_better for d in (da, raw, edits)] == [True, True, False]


def test_mlqe_pe_columns(shared_data: Find) -> None:
    folder = shared_data("mlqe-pe/en-de")
    raw = FORMATS.get("mlqe_pe")().read(folder)
    edits = FORMATS.get("mlqe_pe")(label="hter").read(folder)
    assert raw.splits["train"].annotators is not None and raw.splits["train"].judges is not None
    assert np.unique(raw.splits["train"].annotators, return_counts=True)[1].tolist() == [6407, 593]
    np.testing.assert_allclose(
        np.nanmean(raw.splits["train"].judges, axis=1), raw.splits["train"].scores, atol=1e-9
    )
    assert raw.splits["dev"].segments.doc_id is not None
    assert raw.splits["dev"].segments.doc_id[0] == "French Foreign Legion"
    assert raw.splits["dev"].segments.alignment is None and raw.splits["dev"].word_tags is None
    assert any("word tags are left out" in note for note in raw.notes)
    dev = edits.splits["dev"]
    assert dev.segments.target_tokens.words(0)[:3] == ["Gleichzeitig", "nahm", "die"]
    assert dev.word_tags is not None and dev.segments.alignment is not None
    tags = np.array([len(tags.split()) for tags in dev.word_tags])
    assert (tags == 2 * dev.segments.target_tokens.lengths + 1).all()
    train, direct = (
        edits.splits["train"],
        FORMATS.get("mlqe_pe")(text="tokenised").read(folder).splits["train"],
    )
    assert train.direct_assessment is not None and direct.scores is not None
    np.testing.assert_array_equal(train.direct_assessment, direct.scores)
    assert direct.direct_assessment is None and edits.splits["test20"].direct_assessment is None
    scores = np.array(edits.splits["test20"].segments.model_score, float)
    probabilities = edits.splits["test20"].segments.token_log_probabilities
    assert probabilities is not None
    means = [np.mean(np.array(row.split(), float)) for row in probabilities]
    np.testing.assert_allclose(means, scores, atol=3e-5)


def test_hter_equals_the_published_one(shared_data: Find) -> None:
    """Computed from the post-edits of MLQE-PE against its `.hter` files, which are cut off at 1."""
    from qe.data.labels import hter

    dev = FORMATS.get("mlqe_pe")(label="hter", pair="ro-en").read(shared_data("mlqe-pe")).splits["dev"]
    assert dev.post_edit is not None and dev.scores is not None
    computed = hter(dev.segments.target_tokens, dev.segments.target_tokenizer.tokens(dev.post_edit))
    np.testing.assert_allclose(np.minimum(computed, 1), dev.scores, atol=6e-7)


def test_unquoted_table_reads_all_rows_of_mlqe_pe(shared_data: Find) -> None:
    """A reader with quoting returns 905 of the 1000 rows; ours refuses instead."""
    path = shared_data("mlqe-pe/ro-en/direct-assessments/dev/dev.roen.df.short.tsv")
    keys: dict[str, Any] = {
        "columns": {"source": "original", "target": "translation", "scores": "z_mean"},
        "label": {"name": "z", "higher_is_better": True},
    }
    assert len(read_table(path, **keys).splits["train"]) == 1000
    refuses(r"short\.tsv:\d+: .*`quoting: false`", read_table, path, quoting=True, **keys)


# Parallel text.


def test_parallel_text(texts: Path) -> None:
    data = read_text(texts)
    train = data.splits["train"]
    assert train.segments.source == ("a", "b", "c") and train.segments.id == ("train-1", "train-2", "train-3")
    assert train.scores is not None and train.scores.tolist() == [1, 2.5, 5]
    assert data.notes == () and set(data.provenance) == {"s", "t", "y"}


def test_parallel_text_gzip_judges_and_blind_split(texts: Path) -> None:
    (texts / "s.gz").write_bytes(gzip.compress(b"a\nb\nc\n"))
    write(texts, j="1 2\n3 4\n5 5\n", w="0.5\t0.5\n0.5\t0.5\n0.5\t0.5\n")
    splits = {
        "train": FILES["train"] | {"source": "s.gz", "judges": "j", "weights": "w"},
        "test": {"source": "s", "target": "t"},
    }
    data = read_text(texts, splits=splits)
    assert data.splits["train"].segments.source == ("a", "b", "c")
    assert data.splits["train"].judges is not None
    assert data.splits["train"].judges.tolist() == [[1, 2], [3, 4], [5, 5]]
    assert data.splits["test"].scores is None and data.splits["test"].segments.id[0] == "test-1"


def test_untidy_text_is_read_correctly_and_mentioned(texts: Path) -> None:
    write(texts, s=b"\xef\xbb\xbfa \t\r\nb\r\nc", t="A\nB\rB\n C\x00\u2028\x85\x0cC\n")
    data = read_text(texts)
    assert data.splits["train"].segments.source == ("a", "b", "c")
    assert data.splits["train"].segments.target == ("A", "B\rB", " C\x00\u2028\x85\x0cC")
    assert data.notes == (
        "s: starts with a byte-order mark (dropped)",
        "s: no line end after the last line",
        "s: 2 lines end with CRLF (read as LF)",
        "s: 1 lines with trailing blanks (removed)",
        "t: 1 carriage returns inside lines (kept)",
        "t: 4 unusual separators (NUL, form feed, U+0085, U+2028, ...) in lines (kept)",
    )


def test_hter_label_computed_from_post_edits(texts: Path) -> None:
    write(texts, t="the cat sat\nB\nC D\n", p="the cat sat down\nb\nD C\n")
    splits = {
        "train": {"source": "s", "target": "t", "post_edit": "p"},
        "test": {"source": "s", "target": "t"},
    }
    data = read_text(texts, splits=splits, label="hter")
    assert not data.scale.higher_is_better and data.scale.name == "hter"
    assert data.splits["train"].scores is not None
    # one insertion in four words; case does not count; one shift in two words
    assert data.splits["train"].scores.tolist() == [0.25, 0, 0.5]
    assert data.splits["test"].scores is None


def test_hter_that_is_given_is_not_computed(texts: Path) -> None:
    write(texts, p="A\nB\nC\n", y="0.5\n0\n1.25\n")
    data = read_text(texts, splits={"train": FILES["train"] | {"post_edit": "p"}}, label="hter")
    assert data.splits["train"].scores is not None
    assert data.splits["train"].scores.tolist() == [0.5, 0, 1.25]


def test_blanks_of_any_kind_around_a_number(texts: Path) -> None:
    write(texts, y="1\x1f\n\u00a02\n\x1c3\n")
    scores = read_text(texts).split("train").scores
    assert scores is not None and scores.tolist() == [1, 2, 3]


def test_ids_of_a_file(texts: Path) -> None:
    write(texts, i="x\ny\nz\n")
    splits = {"train": FILES["train"] | {"id": "i"}}
    assert read_text(texts, splits=splits).splits["train"].segments.id == ("x", "y", "z")


def test_tolerant_reading_collects_every_defect(texts: Path) -> None:
    write(texts, y="1\nx\n9\n", i="p\np\nq\n")
    reading = Reading(texts, tolerant=True)
    splits = {"train": FILES["train"] | {"id": "i"}}
    data = FORMATS.get("parallel_text")(
        splits=splits, label=SCORE, source_language="en", target_language="es"
    ).read_with(reading, texts)
    assert [str(error.location).split("/")[-1] for error in reading.defects] == ["i:2", "y:2", "y:3"]
    assert data.splits["train"].scores is not None
    assert np.isnan(data.splits["train"].scores).tolist() == [False, True, True]


# Tables.

FRAME = pd.DataFrame(
    {
        "source": ['He said "hi"', '"Quoted"', "plain, with comma"],
        "target": ["Dijo «hola»", "tab-free", 'un "x"'],
        "score": [1.0, 2.5, 5.0],
        "extra": ["", "-", "3"],
    }
)


def save(frame: pd.DataFrame, path: Path) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith(".tsv"):
        frame.to_csv(path, sep="\t", index=False, quoting=csv.QUOTE_NONE)
    elif name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True, force_ascii=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize(
    "name", ["a.tsv", "a.tsv.gz", "a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"]
)
def test_every_kind_of_table_reads_the_same(tmp_path: Path, name: str) -> None:
    train = read_table(save(FRAME, tmp_path / name)).splits["train"]
    assert train.segments.source == tuple(FRAME["source"])
    assert train.segments.target == tuple(FRAME["target"])
    assert train.scores is not None and train.scores.tolist() == [1, 2.5, 5]


def test_table_splits_judges_ids_and_blind(tmp_path: Path) -> None:
    frame = FRAME.assign(name=["x", "y", "z"], j1=[1, 2, 3], j2=[5, 4, 3])
    save(frame, tmp_path / "train.csv")
    save(FRAME[["source", "target"]], tmp_path / "test.csv")
    data = read_table(
        tmp_path,
        splits={"train": "train.csv", "test": "test.csv"},
        columns={"scores": "score", "judges": ["j1", "j2"]},
        blind=["test"],
    )
    assert data.splits["train"].judges is not None
    assert data.splits["train"].judges.tolist() == [[1, 5], [2, 4], [3, 3]]
    assert data.splits["test"].scores is None
    named = read_table(tmp_path / "train.csv", columns={"scores": "score", "id": "name"})
    assert named.splits["train"].segments.id == ("x", "y", "z")


def test_hter_from_a_table(tmp_path: Path) -> None:
    path = save(FRAME.assign(edited=["Dijo «adiós»", "tab-free", 'un "x"']), tmp_path / "a.jsonl")
    scores = read_table(path, label="hter", columns={"post_edit": "edited"}).splits["train"].scores
    assert scores is not None and (scores > 0).tolist() == [True, False, False]


def test_a_parquet_file_with_a_name_that_is_no_text_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    save(FRAME.assign(nameXX="c"), path)
    path.write_bytes(path.read_bytes().replace(b"nameXX", b"name\xa5\xef"))
    refuses(r"a\.parquet: not a Parquet file.*can't decode", read_table, path)


@pytest.mark.parametrize("style", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_a_quoted_tsv_shows_that_it_is(tmp_path: Path, style: Any) -> None:
    path = tmp_path / "a.tsv"
    FRAME.to_csv(path, sep="\t", index=False, quoting=style)
    dataset = read_table(path)
    assert dataset.splits["train"].segments.source == tuple(FRAME["source"])
    assert any("read with quoted fields" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('"x" he said\tb\t1\n', 2),  # text after the closing quote
        ('a\tb\t1\n"x\tb\t1\n', 3),  # never closed
        ('"x\tb\t1\na\tb"\t1\n', 2),  # closes on the next line: another number of fields
        ('a\t"b\t1\na"\tb\t1\n', 2),  # the same at the last field
    ],
)
def test_unquoted_tsv_read_as_quoted(tmp_path: Path, rows: str, line: int) -> None:
    path = write(tmp_path, **{"a.tsv": f"source\ttarget\tscore\n{rows}"}) / "a.tsv"
    assert read_table(path).splits["train"].segments.target[0] is not None
    refuses(rf"a\.tsv:{line}: .*`quoting: false`", read_table, path, quoting=True)


# Texts without what the reader cleans up on purpose.
FIELD = st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), max_size=12)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.sampled_from(["source", "target"]), FIELD, min_size=2), min_size=1))
def test_json_lines_round_trip(tmp_path_factory: TempPaths, records: list[dict[str, str]]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), "utf-8", newline="")
    data = read_table(path, columns={}, blind=["train"])
    expected = tuple(unicodedata.normalize("NFC", r["source"].rstrip(" \t")) for r in records)
    assert data.splits["train"].segments.source == expected


# Labels of a table -> those that are learned from, and the lines of rows that are left out.
LABELS: dict[str, tuple[list[str], list[float], str]] = {
    "none is missing": (["1", "2", "3"], [1, 2, 3], ""),
    "several, in several ways": (["1", "n/a", "-", "2", "3", "4", "NaN"], [1, 2, 3, 4], "(lines 3, 4, 8)"),
    "decimal commas, one is missing": (["1,5", "", "3"], [1.5, 3], "1 rows without a label are left out"),
    "many": (["x"] * 12 + ["1"] * 13, [1] * 13, "12 rows without a label are left out (lines 2, 3, 4, 5"),
}


@pytest.mark.parametrize("case", LABELS)
def test_rows_without_a_label_are_left_out_where_most_have_one(case: str, tmp_path: Path) -> None:
    labels, expected, note = LABELS[case]
    rows = "".join(f"s{i}\tt{i}\t{label}\n" for i, label in enumerate(labels))
    dataset = read_table(write(tmp_path, **{"a.tsv": f"source\ttarget\tscore\n{rows}"}) / "a.tsv")
    scores = dataset.splits["train"].scores
    assert scores is not None and scores.tolist() == expected
    assert [n for n in dataset.notes if "label are" in n and note in n] if note else not dataset.notes
    kept = [i for i, label in enumerate(labels) if label.replace(",", ".").replace(".", "").isdigit()]
    assert dataset.splits["train"].segments.source == tuple(f"s{i}" for i in kept)


def test_rows_without_a_post_edit_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, **{"a.tsv": "source\ttarget\tpe\na\tb\tb\nc\td\t\ne\tf\tg\n"}) / "a.tsv"
    dataset = read_table(path, label="hter", columns={"post_edit": "pe"})
    assert dataset.splits["train"].segments.source == ("a", "e")


XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" datatype="x" '
    'source-language="en" target-language="es"><body>{}</body></file></xliff>'
)
UNIT = (
    '<trans-unit id="{0}"><source>s{0}</source><target>{1}</target><note from="ana">{0}.5</note></trans-unit>'
)


def test_translated_segments_of_xliff_with_a_note_as_the_label(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF.format(UNIT.format(1, "a") + UNIT.format(2, "") + UNIT.format(3, "c")))
    dataset = read_table(path, columns={"scores": "note:ana", "id": "id"})
    (scores, segments) = dataset.splits["train"].scores, dataset.splits["train"].segments
    assert scores is not None and scores.tolist() == [1.5, 3.5] and segments.id == ("1", "3")
    assert any("1 segments without a translation are left out" in note for note in dataset.notes)
    refuses("'es', not in 'ca'", read_table, path, columns={"scores": "note:ana"}, target_language="ca")


def test_rows_of_xlsx(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["Title"],
        ["source", "target", "score"],
        ["a", "b", 1.5, "#N/A"],
        ["c", "d", None],
        ["e", "=x", 3],
    ):
        book.active.append(row)
    book.active["B5"].data_type = "s"
    book.save(tmp_path / "a.xlsx")
    dataset = read_table(tmp_path / "a.xlsx", header_row=2)
    assert dataset.splits["train"].segments.target == ("b", "=x")
    assert any("(lines row 4)" in note for note in dataset.notes)
