"""A part of the corpus that a decoder translates which was built without it, on Europarl."""

from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
import pytest

from features.comparisons.phrase_decoder import decode
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.phrase_table import PhraseTable
from features.storage.damage import Damaged
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus, held_out_lines
from features.text.tokens import Tokens
from qe_papers.extractors.word_models import SMOOTHINGS
from qe_papers.learned.development_set import DevelopmentSet, NaiveBayes, error_rate
from tests.factories import EN_ES, Find, refuses, segments

PAIRS, FIRST, LAST = 1500, 1001, 1200
CONFIGS = [{"kind": kind, "corpus": "development"} for kind in ("example_precision", "word_confidence")]


@pytest.fixture(scope="module")
def corpus(shared_data: Find) -> ParallelCorpus:
    folder = shared_data("alignment/en-es/cse256")
    sides = (read_lines(folder / f"corpus.{language}.gz") for language in ("en", "es"))
    return ParallelCorpus.from_lines(islice(zip(*sides, strict=True), PAIRS), *EN_ES)


@pytest.fixture(scope="module")
def bundle(corpus: ParallelCorpus, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    settings = {"development_set": {"first_line": FIRST, "last_line": LAST}}
    folder = tmp_path_factory.mktemp("development")
    return build(lambda: corpus, folder, parts_needed(CONFIGS), settings=settings)


@pytest.fixture(scope="module")
def texts(bundle: Bundle) -> Any:
    return bundle.part("development_set")


def lists(tokens: Tokens) -> list[list[str]]:
    return [tokens.words(i) for i in range(len(tokens))]


def test_lines_are_held_out_of_the_file_as_it_was_read() -> None:
    """Line 2 has an empty side; line 5 has the target of line 3, line 6 the source of line 4."""
    pairs = [("a", "x"), ("", "y"), ("c", "z"), ("d", "w"), ("e", "Z"), ("D", "v"), ("f", "u")]
    left, rows = held_out_lines(ParallelCorpus.from_lines(pairs), 3, 4)
    assert (left.tolist(), rows.tolist()) == ([0, 5], [1, 2])


def test_it_is_translated_by_what_the_rest_taught(corpus: ParallelCorpus, texts: DevelopmentSet) -> None:
    left, rows = held_out_lines(corpus, FIRST, LAST)
    lines = np.arange(len(corpus)) if corpus.lines is None else corpus.lines
    assert lines[rows].min() >= FIRST - 1 and lines[rows].max() < LAST and len(rows) > 180
    known = {tuple(words) for words in lists(corpus.target.lower().take(left))}
    assert not any(tuple(words) in known for words in lists(texts.reference))
    rest = corpus.take(left)
    table = PhraseTable.build(rest, aligner=Aligner.build(rest))
    model = LanguageModel.build(rest, side="target", order=5)
    assert lists(texts.machine) == lists(decode(corpus.source.take(rows), table, model).tokens)
    assert lists(texts.source) == lists(corpus.source.take(rows))
    assert lists(texts.reference) == lists(corpus.target.take(rows).lower())
    lexicon = Lexicon.build(rest, direction="source_to_target")
    np.testing.assert_array_equal(texts.evidence[0], lexicon.score(texts.source, texts.machine).maximum)
    np.testing.assert_array_equal(texts.evidence[1], model.score(texts.machine).token_log10)


def test_errors_at_the_best_threshold_by_hand() -> None:
    right = np.array([True, False, True, False])
    assert error_rate(np.array([0.9, 0.1, 0.8, 0.2]), right) == 0
    assert error_rate(np.array([0.5, 0.5, 0.5, 0.5]), right) == 0.5  # all right, or all wrong
    assert error_rate(np.array([0.5, 0.5, 0.9, 0.5]), right) == 0.25
    assert error_rate(np.array([0.1, 0.9, 0.2, 0.8]), right) == 0.5


def test_smoothing_is_what_makes_fewest_errors_on_words_not_learned_from() -> None:
    """`u` and `v` are words of one occurrence each: only the sum of all says whether they are right, and that
    is what much smoothing trusts. Each of the others is always right or always wrong: little smoothing."""
    told = Tokens.from_lists([["a", "b"]] * 20)
    right = np.tile([[True, False]], (1, 20))
    nothing = np.zeros((3, len(told.ids)))
    model, smoothing = NaiveBayes.tuned(told, nothing, right, 1, [1e4, 0.1], 4)
    assert smoothing.tolist() == [1e4]  # equal errors, none: the first
    assert error_rate(model.confidences(told, nothing, smoothing)[0], right[0]) == 0
    noise = Tokens.from_lists([["a", "w"], ["a", "w"], ["a", "w"], ["b", "w"]] * 10)
    flags = np.array([[True, True, True, True, True, False, False, False] * 10])
    _, smoothing = NaiveBayes.tuned(noise, np.zeros((3, 80)), flags, 1, [0.1, 1e4], 4)
    assert smoothing.tolist() == [0.1]


def test_confidence_is_learned_from_its_translations(bundle: Bundle, texts: DevelopmentSet) -> None:
    """Words of the references are found likelier right than the decoder's words that no reference has."""
    extractor = make_extractor(CONFIGS[1], bundle)
    assert len(extractor.names) == 20
    sources = [" ".join(words) for words in lists(texts.source)]
    targets = [" ".join(words) for words in lists(texts.machine)]
    values = extractor.extract(segments(sources, targets, EN_ES))
    shares = values[:, [name.find("quartile") > 0 for name in extractor.names]]
    np.testing.assert_allclose(shares.reshape(len(values), 4, 4).sum(axis=2), 1)
    mean = values[:, extractor.names.index("word_confidence_development_any_mean")]
    pairs = zip(lists(texts.machine), lists(texts.reference), strict=True)
    own = [np.mean([word in set(reference) for word in machine]) for machine, reference in pairs]
    assert np.corrcoef(mean, own)[0, 1] > 0.5
    assert set(extractor._tuned[1].tolist()) <= set(SMOOTHINGS)  # type: ignore[attr-defined]
    bigrams = make_extractor({**CONFIGS[1], "order": 2}, bundle)
    assert bigrams.names[0] == "word_confidence_development_2_levenshtein_mean"


def test_without_lines_blocks_are_drawn(corpus: ParallelCorpus) -> None:
    small = corpus.take(np.arange(300))
    made = DevelopmentSet.build(small, pairs=30)
    assert len(made.source) == 30
    assert made.settings == {"first_line": 0, "last_line": 0, "pairs": 30, "seed": 0}
    assert lists(made.source) != lists(DevelopmentSet.build(small, pairs=30, seed=1).source)


def test_every_setting_is_told_and_damage_is_refused(texts: DevelopmentSet) -> None:
    assert {field.name for field in fields(texts.builder)} - {"scratch"} <= set(texts.settings)
    texts.check_stored()
    damaged = DevelopmentSet(
        texts.source, texts.machine, texts.reference.take(np.arange(3)), texts.evidence,
        settings=texts.settings, corpus_fingerprint=texts.corpus_fingerprint,
    )  # fmt: skip
    refuses("3 texts of `reference`", damaged.check_stored, error=Damaged)
