"""Resources of post-edits and references: no row is looked up in its own; new rows in all of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features import FittedExtractor, Segments, Tokenizer
from features.basics.array_types import FloatArray
from features.core.out_of_fold import NO_PART, Parts
from features.resources.word_vectors import WordVectors
from qe.config import Experiment
from qe.models import Model
from qe.resources.corpora import TranslatedSegments
from qe.training.check import check
from qe.training.preparation import Prepared, prepare
from qe.training.train import train
from tests.training import several
from tests.training.several import section

STATIC = ("lm", "ibm1", "phrase_table")
WORDS = tuple("abcdefghijklmnopqrstuvw")
ROWS, CHANGED = 90, 7


def write(path: Path, *, changed: str | None = None, rows: int = ROWS) -> None:
    """Words have translations, 1 in 5 is wrong, post-edits are right. `changed`: the post-edit of a row."""
    rng = np.random.default_rng(0)
    lines = ["source\ttarget\tpost_edit\treference\tscore"]
    for row in range(rows):
        source = rng.choice(WORDS, 7).tolist()
        right = [word * 2 for word in source]
        wrong = rng.random(7) < 0.2
        target = [word[0] * 3 if bad else word for word, bad in zip(right, wrong, strict=True)]
        edited = changed if changed is not None and row == CHANGED else " ".join(right)
        reference = " ".join(reversed(right))
        lines.append(
            "\t".join([" ".join(source), " ".join(target), edited, reference, f"{wrong.mean():.3f}"])
        )
    path.write_text("\n".join(lines) + "\n", "utf-8")


def made(folder: Path, **more: Any) -> Experiment:
    usual = {
        "name": "own",
        "resources": {"texts": ["post_edit"], "parts": 3},
        "features": [*STATIC, {"kind": "word_quality", "rounds": 3}],
        "split": {"folds": 2},
    }
    return several.made(folder, DATASET, **{**usual, **more})


def at_work(folder: Path, changed: str | None = None, **more: Any) -> Prepared:
    folder.mkdir()
    write(folder / "rows.tsv", changed=changed)
    return prepare(check(made(folder, **more)), folder / "cache")


def word_columns(data: Prepared) -> FloatArray:
    """Of words, as word_quality sees them before any label, one row per word."""
    extractor: Any = data.extraction.feature_set.extractors[-1]
    return np.asarray(extractor._table(data.training.segments, frozenset()).words, np.float64)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Prepared, Prepared]:
    """The same rows, one of which has another post-edit."""
    folder = tmp_path_factory.mktemp("own")
    return at_work(folder / "one"), at_work(folder / "other", changed="zzz zzz yyy aa aa aa bb")


@pytest.mark.slow
def test_a_row_is_not_looked_up_in_its_own_text_but_in_that_of_others(two: tuple[Prepared, Prepared]) -> None:
    one, other = (data.extraction.static(data.training.segments) for data in two)
    segments = two[0].training.segments
    part = Parts.from_segments(segments, 3)(segments)
    same = (one.to_numpy() == other.to_numpy()) | (one.isna() & other.isna()).to_numpy()
    assert same[part == part[CHANGED]].all()  # its part's rows, itself among them
    assert not same[part != part[CHANGED]].all(axis=1).any()  # its text counts where others are looked up


@pytest.mark.slow
def test_words_are_looked_up_likewise(two: tuple[Prepared, Prepared]) -> None:
    tables = [word_columns(data) for data in two]
    segments = two[0].training.segments
    part = Parts.from_segments(segments, 3)(segments)[segments.target_tokens.text_index]
    same = (tables[0] == tables[1]) | (np.isnan(tables[0]) & np.isnan(tables[1]))
    assert same[part == part[segments.target_tokens.offsets[CHANGED]]].all()
    assert not same[part != part[segments.target_tokens.offsets[CHANGED]]].all()


@pytest.mark.slow
def test_source_words_are_looked_up_likewise(tmp_path: Path) -> None:
    features = [{"kind": "word_network", "networks": 1, "epochs": 1}]
    data = [
        at_work(tmp_path / name, changed, features=features)
        for name, changed in (("one", None), ("other", "zzz zzz yyy aa aa aa bb"))
    ]
    tables = []
    for each in data:
        network: Any = each.extraction.feature_set.extractors[0]
        fitted = network.with_learned(_used=frozenset())
        tables.append(np.asarray(fitted._sides(each.training.segments).source.inputs.columns, np.float64))
    segments = data[0].training.segments
    part = Parts.from_segments(segments, 3)(segments)[segments.source_tokens.text_index]
    mine = part[segments.source_tokens.offsets[CHANGED]]
    same = (tables[0] == tables[1]) | (np.isnan(tables[0]) & np.isnan(tables[1]))
    assert same[part == mine].all() and not same[part != mine].all()


@pytest.mark.slow
def test_all_bundles_have_the_same_vectors_of_words(two: tuple[Prepared, Prepared]) -> None:
    assert two[0].extraction.part_features is not None
    sets = [two[0].extraction.feature_set, *two[0].extraction.part_features.alternatives]
    vectors = [extractor.target_vectors for each in sets for extractor in each.extractors[-1:]]  # type: ignore[attr-defined]
    assert len(vectors) == 4 and all(isinstance(each, WordVectors) for each in vectors)
    for each in vectors[1:]:
        np.testing.assert_array_equal(each.vectors, vectors[0].vectors)
        assert each.vocabulary.words == vectors[0].vocabulary.words
    models = {extractor.target_lm.fingerprint for each in sets for extractor in each.extractors[-1:]}  # type: ignore[attr-defined]
    assert len(models) == 4


@pytest.mark.slow
def test_a_new_row_is_looked_up_in_all_texts(two: tuple[Prepared, Prepared]) -> None:
    extraction, segments = two[0].extraction, two[0].training.segments
    new = replace(segments, id=tuple(f"new {name}" for name in segments.id))
    alone = replace(extraction, part_features=None, cache=None).static(segments)
    as_new = replace(extraction, cache=None).static(new)
    pd.testing.assert_frame_equal(as_new.reset_index(drop=True), alone.reset_index(drop=True))
    assert not alone.equals(extraction.static(segments))


@pytest.mark.slow
def test_references_can_be_texts_too_and_stand_behind_a_corpus(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "c.en").write_text("a b c\n" * 4, "utf-8")
    (folder / "c.de").write_text("aa bb cc\n" * 4, "utf-8")
    write(folder / "rows.tsv")
    resources = {"texts": ["post_edit", "reference"], "parts": 2, "source": "c.en", "target": "c.de"}
    data = prepare(check(made(folder, resources=resources, features=["lm"])), folder / "cache")
    assert data.bundle is not None and data.bundle.manifest["pairs"] == 4 + 2 * ROWS


def test_texts_of_a_segment_stand_side_by_side() -> None:
    """So that a held-out part of the corpus has all of them; a pair without words is left out."""
    plain = Tokenizer("en", "whitespace"), Tokenizer("de", "whitespace")
    texts = [
        Segments.from_columns({"source": ["a", "b", "c"], "target": targets}, *plain)
        for targets in (["post a", "", "post c"], ["ref a", "ref b", "ref c"])
    ]
    corpus = TranslatedSegments(texts).read(plain)
    pairs = [[" ".join(side.words(i)) for side in (corpus.source, corpus.target)] for i in range(len(corpus))]
    assert pairs == [["a", "post a"], ["a", "ref a"], ["b", "ref b"], ["c", "post c"], ["c", "ref c"]]


@pytest.mark.slow
def test_words_and_networks_can_begin_with_what_own_texts_teach(tmp_path: Path) -> None:
    """Synthetic quality holds out segments with both of their texts."""
    features = [{"kind": "word_quality", "knowledge": ["pretrained"], "rounds": 3}]
    resources = {"texts": ["post_edit", "reference"], "parts": 2}
    settings = {"synthetic_word_quality": {"rounds": 3, "networks": 1}}
    write(tmp_path / "rows.tsv", rows=300)
    made_of = made(tmp_path, features=features, resources={**resources, "settings": settings})
    data = prepare(check(made_of), tmp_path / "cache")
    assert data.bundle is not None
    assert data.bundle.part("synthetic_word_quality").settings["held_out"] >= 50


@pytest.mark.slow
def test_a_trained_model_looks_everything_up_in_all_texts(tmp_path: Path) -> None:
    write(tmp_path / "rows.tsv")
    train(check(made(tmp_path)), tmp_path / "out", cache=tmp_path / "cache")
    assert not (tmp_path / "out" / "words").exists()  # of other splits, of which there are none
    model = Model.load(tmp_path / "out" / "model")
    whole = model.feature_set.extractors[0].target_lm.fingerprint  # type: ignore[attr-defined]
    data = prepare(check(made(tmp_path)), tmp_path / "cache")
    assert whole == data.extraction.feature_set.extractors[0].target_lm.fingerprint  # type: ignore[attr-defined]
    for extractor in model.feature_set.extractors:
        assert not isinstance(extractor, FittedExtractor) or extractor._out_of_fold is None  # type: ignore[attr-defined]


@pytest.mark.slow
def test_no_fold_is_perturbed_whose_texts_the_resources_hold(tmp_path: Path) -> None:
    write(tmp_path / "rows.tsv")
    evaluation = {"metric": "pearson", "robustness": True, "samples": 100}
    plan = check(made(tmp_path, features=["lm"], evaluation=evaluation))
    assert train(plan, tmp_path / "out", cache=tmp_path / "cache").report["robustness"] is None


@pytest.mark.slow
def test_rows_that_are_set_aside_to_calibrate_give_no_text(tmp_path: Path) -> None:
    write(tmp_path / "rows.tsv")
    experiment = made(tmp_path, features=["lm"], intervals={"method": "split", "share": 0.2})
    data = prepare(check(experiment), tmp_path / "cache", calibrating=True)
    assert any("resources hold the post_edit of the training segments" in note for note in data.dataset.notes)
    assert data.calibration is not None and data.bundle is not None
    assert data.extraction.part_features is not None
    assert data.bundle.manifest["pairs"] == len(data.training) == ROWS - len(data.calibration) < ROWS
    assert set(data.extraction.part_features.parts(data.calibration.segments).tolist()) == {NO_PART}


LABEL = {"name": "hter", "low": 0, "high": 1, "higher_is_better": False}


DATASET = section("rows.tsv", False, label=LABEL) | {
    "columns": {"scores": "score", "post_edit": "post_edit", "reference": "reference"}
}
