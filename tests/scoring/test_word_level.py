"""`qe score --tokens`: what the fitted word-level extractor says, row for row, in every kind of table."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features import ParallelCorpus, Segments
from features.core.bundle import build
from features.core.feature_set import FeatureSet, parts_needed
from features.storage.files import read_lines
from features.word_quality import WordQuality
from qe.data import LabelScale
from qe.data.table_rows import read_rows
from qe.getting_started.demo.generation import generate
from qe.models import Model
from qe.models.pipeline import Candidate, fit
from qe.models.word_tags import PlaceTags, WordTags
from qe.scoring import Options, Scorer
from qe.scoring.row_formats import PROBABILITIES
from qe.scoring.word_level import WordLevel, bad_spans, described
from tests.factories import TempPaths, ran, score_file
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

CONFIG = {"kind": "word_quality", "rounds": 5}
TOKENS = Options(tokens=True)
# Log-odds twice as large, thresholds that have tags of both kinds on both sides of them.
TAGS = WordTags(
    {
        "word": PlaceTags(2.0, 0.5, f1_mult=0.3, mcc=0.2, n=100, bad=20),
        "gap": PlaceTags(1.0, 0.0, f1_mult=0.1, mcc=0.05, n=100, bad=5),
    },
    insertions=1.5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: TempPaths) -> Path:
    return word_models(tmp_path_factory.mktemp("word-level"))


def word_models(folder: Path) -> Path:
    """new.tsv with 90 rows, two of them unusable, and a model that learned word-level quality."""
    data = generate(folder / "data", pairs=600, train=80, test=10, new=88)
    pairs = list(zip(read_lines(data.corpus_source), read_lines(data.corpus_target), strict=True))
    bundle = build(lambda: ParallelCorpus.from_lines(pairs), folder / "bundle", parts_needed([CONFIG]))
    columns = {c: list(read_lines(data.column("train", c))) for c in ("source", "target", "post_edit")}
    segments = Segments.from_columns({c: columns[c] for c in ("source", "target")}, *bundle.tokenizers)
    (extractor,) = FeatureSet.make([CONFIG], bundle).fitted
    learned = FeatureSet((CONFIG,), (extractor.fit(segments, {"post_edit": columns["post_edit"]}),))
    table = learned.extract(segments)
    candidate = Candidate("ridge")
    pipeline = fit(candidate.pipeline(0), table, np.linspace(1, 5, 80))
    scale = LabelScale("effort", 1, 5, True)
    Model("m", candidate, pipeline, learned, scale, bundle.tokenizers, bundle).save(folder / "model")
    boosted = Candidate(
        "averaging", {"members": [{"kind": "lightgbm", "n_estimators": 20}, {"kind": "ridge"}]}
    )
    pipeline = fit(boosted.pipeline(0), table, np.linspace(1, 5, 80))
    Model("b", boosted, pipeline, learned, scale, bundle.tokenizers, bundle).save(folder / "boosted")
    Model.load(folder / "model").save(folder / "tagged", [TAGS])
    with data.new_translations.open("a") as stream:
        stream.write("empty\ta b\t \nbroken\n")
    return folder


def word_quality(model: Model) -> WordQuality:
    """The family that judges target words."""
    family = WordLevel.from_model(model).families["word"]
    assert isinstance(family, WordQuality)
    return family


def score(folder: Path, output: Path, chunk: int = 20, workers: int = 1) -> list[bytes]:
    source = folder / "data" / "new.tsv"
    score_file(folder / "model", [source], output, options=TOKENS, chunk=chunk, workers=workers)
    return output.read_bytes().splitlines()


def test_equal_to_what_the_extractor_says(folder: Path, tmp_path: Path) -> None:
    scored = [json.loads(line) for line in score(folder, tmp_path / "out.jsonl")]
    model = Model.load(folder / "model")
    good = [dict(row) for row, _ in read_rows(folder / "data" / "new.tsv")][:88]
    segments = model.segments({c: [r[c] for r in good] for c in ("source", "target")})
    quality = word_quality(model).tokens(segments)
    assert [row["tokens"] for row in scored[:88]] == [segments.target_tokens.words(i) for i in range(88)]
    assert [p for row in scored[:88] for p in row["bad"]] == np.round(quality.words, 6).tolist()
    assert [p for row in scored[:88] for p in row["gaps"]] == np.round(quality.gaps, 6).tolist()
    assert all(len(row["gaps"]) == len(row["bad"]) + 1 == len(row["tokens"]) + 1 for row in scored[:88])
    assert min(quality.words) < max(quality.words) and 0 <= min(quality.gaps) <= max(quality.gaps) <= 1
    for row in scored[88:]:
        assert row["tokens"] is row["bad"] is row["gaps"] is row["score"] is None and row["reason"]


def test_workers_and_chunks_do_not_change_the_words(folder: Path, tmp_path: Path) -> None:
    one, other = (
        [json.loads(line) for line in score(folder, tmp_path / f"{chunk}.jsonl", chunk, workers)]
        for chunk, workers in ((90, 1), (7, 2))
    )
    assert [[row[c] for c in PROBABILITIES] for row in one] == [
        [row[c] for c in PROBABILITIES] for row in other
    ]


def test_workers_of_a_boosted_model_score_alike(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "qe", "score", "--model", str(folder / "boosted"), "--quiet"]
    command += ["--input", str(folder / "data" / "new.tsv"), "--chunk", "30"]
    outputs = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for workers, output in enumerate(outputs, start=1):
        subprocess.run(
            [*command, "--workers", str(workers), "--output", str(output)], check=True, timeout=PATIENCE
        )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_repeated_segments_have_the_same_words(folder: Path) -> None:
    rows = list(read_rows(folder / "data" / "new.tsv"))[:3]
    first, second = (Scorer.load(folder / "model", TOKENS) for _ in range(2))
    both = first.score(rows).rows + first.score(rows[1:]).rows
    assert [row["bad"] for row in both[3:]] == [row["bad"] for row in second.score(rows[1:]).rows]


def test_tags_are_those_of_calibrated_probabilities_and_thresholds(folder: Path, tmp_path: Path) -> None:
    source, rows = folder / "data" / "new.tsv", {}
    for metric in ("f1_mult", "mcc"):
        score_file(
            folder / "tagged", [source], tmp_path / f"{metric}.jsonl",
            options=Options(tokens=True, tags=metric), workers=1,
        )  # fmt: skip
        rows[metric] = [json.loads(line) for line in (tmp_path / f"{metric}.jsonl").read_text().splitlines()]
    model = Model.load(folder / "tagged")
    good = [dict(row) for row, _ in read_rows(source)][:88]
    segments = model.segments({c: [r[c] for r in good] for c in ("source", "target")})
    raw = word_quality(model).tokens(segments).words
    odds = 2 * np.log(raw / (1 - raw)) + 0.5
    bad = np.array([p for row in rows["mcc"][:88] for p in row["bad"]])
    np.testing.assert_allclose(bad, 1 / (1 + np.exp(-odds)), atol=1e-6)
    for metric, threshold, of_gaps in (("f1_mult", 0.3, 0.1), ("mcc", 0.2, 0.05)):
        for row in rows[metric][:88]:
            assert row["tags"] == ["BAD" if p >= threshold else "OK" for p in row["bad"]]
            assert row["gap_tags"] == ["BAD" if p >= of_gaps else "OK" for p in row["gaps"]]
            covered = [k for one in row["spans"] for k in range(one["start"], one["end"])]
            assert covered == [k for k, tag in enumerate(row["tags"]) if tag == "BAD"]
            assert all(0 < one["mass"] <= one["edits"] for one in row["spans"])
    assert {tag for row in rows["mcc"][:88] for tag in row["tags"]} == {"OK", "BAD"}
    assert rows["mcc"][88]["spans"] is rows["mcc"][88]["tags"] is None and "source_tags" not in rows["mcc"][0]


def test_kinds_of_tables_hold_tags_and_spans(folder: Path, tmp_path: Path) -> None:
    source = folder / "data" / "new.tsv"
    for kind in ("jsonl", "tsv", "parquet"):
        score_file(folder / "tagged", [source], tmp_path / f"o.{kind}", options=TOKENS, workers=1)
    lists = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert pq.read_table(tmp_path / "o.parquet").to_pylist() == lists
    joined = pd.read_csv(tmp_path / "o.tsv", sep="\t", keep_default_na=False, quoting=3)
    assert list(joined)[:5] == ["id", "score", "tokens", "bad", "gaps"] and list(joined)[-1] == "reason"
    for name in ("tokens", "tags"):
        assert joined[name].str.split().tolist() == [row[name] or [] for row in lists]
    for name in ("bad", "gaps"):
        assert [list(map(float, cell.split())) for cell in joined[name]] == [row[name] or [] for row in lists]
    assert [json.loads(cell or "[]") for cell in joined["spans"]] == [row["spans"] or [] for row in lists]


@pytest.mark.capability
def test_tags_go_with_tokens(demo_model: Path, tmp_path: Path) -> None:
    new = demo_model.parent / "data" / "new.tsv"
    given = ["--model", str(demo_model), "--input", str(new), "--output", str(tmp_path / "o.tsv")]
    assert "--tags needs --tokens" in ran("score", "--tags", "mcc", *given, code=2).err


def test_neighbours_are_one_span_and_lone_gaps_are_spans_without_words() -> None:
    tags = np.array([0, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 0, 1], bool)
    bad = np.array([0.1, 0.8, 0.5, 0.2, 0.1]), np.array([0.01, 0.02, 0.1, 0.6, 0.03, 0.4])
    spans = described(["a", "b", "c", "d", "e"], bad, tags, insertions=1.5)
    assert [(one["start"], one["end"], one["text"]) for one in spans] == [(1, 3, "b c"), (5, 5, "")]
    assert [one["mass"] for one in spans] == pytest.approx([1.3 + 0.72, 0.4])
    assert [one["edits"] for one in spans] == pytest.approx([1.3 + 1.5 * 0.72, 0.6])
    assert json.dumps(spans)


def test_nothing_bad_and_nothing_there() -> None:
    assert bad_spans(np.zeros(3, bool), np.zeros(4, bool)) == []
    assert bad_spans(np.zeros(0, bool), np.ones(1, bool)) == [(0, 0)]


@pytest.mark.slow
@given(st.lists(st.booleans(), max_size=12), st.data())
def test_every_bad_place_is_in_one_span(words: list[bool], data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.booleans(), min_size=len(words) + 1, max_size=len(words) + 1))
    spans = bad_spans(np.array(words, bool), np.array(gaps, bool))
    of_words = [place for start, end in spans for place in range(start, end)]
    of_gaps = [place for start, end in spans for place in range(start, end + 1)]
    assert of_words == [place for place, bad in enumerate(words) if bad]
    assert len(of_gaps) == len(set(of_gaps)) and {k for k, bad in enumerate(gaps) if bad} <= set(of_gaps)
