"""Texts of the training segments: looked up as `word_quality` sees words, never a segment in its own text."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from features import ParallelCorpus, Segments, Tokenizer
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.word_level.tokens import TokenTable, describe
from features.word_level.training_text import PARTS, TrainingText, with_text
from features.word_quality import WordQuality

PAIRS = [("the red house", "la casa roja"), ("a cat", "un gato"), ("the cat sleeps", "el gato duerme")] * 60
ROWS = [("the red cat", "el rojo gato", "el gato rojo"), ("a house", "una casa", "una casa")] * PARTS


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    def corpus() -> ParallelCorpus:
        return ParallelCorpus.from_lines(PAIRS, Tokenizer("en"), Tokenizer("es"))

    parts = parts_needed([{"kind": "word_quality"}])
    return build(corpus, tmp_path_factory.mktemp("bundle"), parts)


def segments(rows: Sequence[tuple[str, str, str]]) -> Segments:
    columns = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
    return Segments.from_columns(columns, Tokenizer("en"), Tokenizer("es"))


def word_quality(bundle: Bundle, **settings: object) -> WordQuality:
    made = make_extractor({"kind": "word_quality", **settings}, bundle)
    assert isinstance(made, WordQuality)
    return made


def looked_up(
    bundle: Bundle, rows: Sequence[tuple[str, str, str]], *, own: bool
) -> tuple[TokenTable, TrainingText]:
    knowledge, batch = word_quality(bundle), segments(rows)
    labels = {"post_edit": [row[2] for row in rows]}
    text = TrainingText.fit(batch, labels, ["post_edit"], knowledge.aligner)
    return with_text(describe(batch, knowledge, frozenset()), text, is_training=own), text


def column(table: TokenTable, name: str) -> np.ndarray:
    return table.words[:, table.word_names.index(name)]


@pytest.mark.slow
def test_a_word_has_its_share_among_those_that_follow_its_left_neighbour(bundle: Bundle) -> None:
    """`el` is followed by `gato` in all of 8 post-edits: 8 / (8 + 1); by `rojo` in none."""
    table, _ = looked_up(bundle, ROWS, own=False)
    share, margin = column(table, "text_before_share"), column(table, "text_before_margin")
    np.testing.assert_allclose(share[:3], [8 / 17, 0, 0], rtol=1e-6)  # el begins 8 of 16 texts
    np.testing.assert_allclose(margin[:3], [0, 8 / 9, 0], rtol=1e-6)
    np.testing.assert_allclose(column(table, "text_before_times")[1], np.log1p(8), rtol=1e-6)


@pytest.mark.slow
def test_a_training_segment_is_not_looked_up_in_its_own_text(bundle: Bundle) -> None:
    """A post-edit that no other segment shares says nothing of its own segment."""
    rows = [*ROWS[:-1], ("the wolf", "xyz abc", "xyz abc")]
    for own, expected in ((True, 0.0), (False, 0.5)):
        table, _ = looked_up(bundle, rows, own=own)
        np.testing.assert_allclose(column(table, "text_before_share")[-1], expected)


def test_references_of_tokenised_segments_are_tokenised(bundle: Bundle) -> None:
    plain = word_quality(bundle)
    whitespace = replace(segments(ROWS), target_tokenizer=Tokenizer("es", "whitespace"))
    text = TrainingText.fit(
        whitespace, {"reference": ["una casa."] * len(ROWS)}, ["reference"], plain.aligner
    )
    assert text.counts["before"].times[:, 0].sum() == 3 * len(ROWS)


@pytest.mark.slow
def test_gaps_know_what_stands_between_their_words(bundle: Bundle) -> None:
    rows = [("the red house", "la roja", "la casa roja")] * PARTS
    table, _ = looked_up(bundle, rows, own=False)
    names = table.gap_names
    gap = dict(zip(names, table.gaps[1], strict=True))
    assert gap["text_adjacent"] == 0
    np.testing.assert_allclose(gap["text_apart"], np.log1p(PARTS), rtol=1e-6)
    np.testing.assert_allclose(gap["text_between"], PARTS / (PARTS + 1), rtol=1e-6)


@pytest.mark.slow
def test_a_fitted_extractor_scores_alike_after_saving(bundle: Bundle, tmp_path: Path) -> None:
    batch = segments(ROWS)
    texts = {name: [row[2] for row in ROWS] for name in ("post_edit", "reference")}
    fitted = word_quality(bundle, texts=["post_edit", "reference"], rounds=3).fit(batch, texts)
    (tmp_path / "model").mkdir()
    fitted.save(tmp_path / "model")
    again = word_quality(bundle, texts=["post_edit", "reference"], rounds=3).restore(tmp_path / "model")
    np.testing.assert_array_equal(again.extract(batch), fitted.extract(batch))
