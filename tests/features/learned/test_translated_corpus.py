"""Machine and human text of the same sentences, and what is built of both, on Europarl."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from features.comparisons.phrase_decoder import decode
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.core.segments import Segments
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.word_lexicon import StopWords
from features.text.annotation import block_of
from features.text.corpus import ParallelCorpus, held_out_in_turn
from features.text.tokens import Tokens
from qe.resources.part_inputs import Annotations, from_column
from qe_papers.learned.edge_counts import EdgeCounts, counted, projections
from qe_papers.learned.sequence_models import SEQUENCES, SequenceModels, aligned_tags, sequences
from qe_papers.syntax import parsed
from tests.factories import EN_ES, Find, europarl, refuses

PAIRS, TRANSLATED = 3000, 301
FAMILIES = ("machine_lm", "sequence_lm", "projected_dependencies")


def chain(line: str) -> str:
    """Every word depends on the one before it; tags by the length of words."""
    rows = [
        f"{k}\t{word}\t{word}\tX\tt{len(word) % 3}\t_\t{k - 1}\t{'root' if k == 1 else 'dep:next'}\t_\t_"
        for k, word in enumerate(line.split(), start=1)
    ]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def corpus(shared_data: Find) -> ParallelCorpus:
    return ParallelCorpus.from_lines(europarl(shared_data, PAIRS), *EN_ES)


@pytest.fixture(scope="module")
def bundle(corpus: ParallelCorpus, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    lines = [" ".join(corpus.source.words(i)) for i in range(len(corpus))]
    annotations = Annotations.alike({"source": from_column([chain(line) for line in lines])})
    return build(
        lambda: corpus,
        tmp_path_factory.mktemp("translated"),
        parts_needed([{"kind": family, "corpus": "translated"} for family in FAMILIES]),
        builders=annotations.builders(),
        wanted=annotations.wanted,
        settings={"translated_corpus": {"pairs": TRANSLATED}},
    )


@pytest.fixture(scope="module")
def texts(bundle: Bundle) -> TranslatedCorpus:
    made = bundle.part("translated_corpus")
    assert isinstance(made, TranslatedCorpus)
    return made


def lists(tokens: Tokens) -> list[list[str]]:
    return [tokens.words(i) for i in range(len(tokens))]


def test_groups_are_held_out_in_turn(corpus: ParallelCorpus) -> None:
    """Every pair is in one group; what is held out has no sentence of the rest, and an ordinary length."""
    parts = held_out_in_turn(corpus, 100_000, 3, seed=1)
    outside = [np.setdiff1d(np.arange(len(corpus)), left) for left, _ in parts]
    assert sorted(np.concatenate(outside).tolist()) == list(range(len(corpus)))
    for (left, rows), group in zip(parts, outside, strict=True):
        assert set(rows.tolist()) <= set(group.tolist()) and len(rows) > len(group) / 3
        for side, (low, high) in (("source", (5, 45)), ("target", (4, 55))):
            known = {tuple(words) for words in lists(corpus.side(side).lower().take(left))}
            own = lists(corpus.side(side).lower().take(rows))
            assert not any(tuple(words) in known for words in own)
            assert all(low <= len(words) <= high for words in own)
    some = held_out_in_turn(corpus, 100, 3, seed=1)
    assert [len(rows) for _, rows in some] == [33, 33, 34]
    assert all(set(a.tolist()) < set(b.tolist()) for (_, a), (_, b) in zip(some, parts, strict=True))


def test_each_sentence_is_held_out(corpus: ParallelCorpus, bundle: Bundle, texts: TranslatedCorpus) -> None:
    aligner, first = bundle.part("aligner"), 0
    assert isinstance(aligner, Aligner)
    for left, rows in held_out_in_turn(corpus, TRANSLATED, 2, seed=0):
        np.testing.assert_array_equal(texts.rows[first : first + len(rows)], rows)
        rest = corpus.take(left)
        table = PhraseTable.build(rest, aligner=aligner)
        model = LanguageModel.build(rest, side="target", order=5)
        expected = decode(corpus.source.take(rows), table, model).tokens
        assert lists(texts.machine)[first : first + len(rows)] == lists(expected)
        first += len(rows)
    assert first == TRANSLATED == texts.settings["translated"]
    assert lists(texts.reference) == lists(corpus.target.take(texts.rows).lower())
    assert lists(texts.source) == lists(corpus.source.take(texts.rows))


@pytest.mark.parametrize(
    "name", ["translated_corpus", "machine_text_lm", "human_text_lm", "sequence_models", "edge_counts"]
)
def test_a_part_tells_every_setting(name: str, bundle: Bundle) -> None:
    """The cache of features knows resources by their settings: one that is not told would be mixed up."""
    part = bundle.part(name)
    settings = {field.name for field in fields(part.builder)} - {"scratch"}
    assert settings and settings <= set(part.settings)


def test_machine_like_words_are_likelier_in_machine_text(bundle: Bundle, texts: TranslatedCorpus) -> None:
    """Each text under both models: the one it is from finds it likelier."""
    extractor = make_extractor({"kind": "machine_lm", "corpus": "translated"}, bundle)

    def column(name: str, tokens: Tokens) -> NDArray[np.float64]:
        lines = [" ".join(words) for words in lists(tokens)]
        table = extractor.extract(Segments(("x",) * len(lines), tuple(lines), *EN_ES))
        return table[:, extractor.names.index(f"machine_lm_translated_{name}")]

    assert (column("human_advantage", texts.machine) < 0).mean() > 0.9
    assert (column("human_advantage", texts.reference) > 0).mean() > 0.9
    model = bundle.part("machine_text_lm")
    assert isinstance(model, LanguageModel)
    expected = model.score(texts.machine).log10[: texts.machine.lengths[0] + 1].mean()
    assert column("log10", texts.machine)[0] == pytest.approx(expected)


def test_sequence_models(corpus: ParallelCorpus, bundle: Bundle, texts: TranslatedCorpus) -> None:
    made, aligner, words = (bundle.part(n) for n in ("sequence_models", "aligner", "target_stop_words"))
    assert isinstance(made, SequenceModels) and isinstance(aligner, Aligner) and isinstance(words, StopWords)
    stop = frozenset(words.words)
    assert len(stop) == 150
    tags = Tokens.from_lists([[f"t{len(word) % 3}" for word in words] for words in lists(texts.source)])
    for kind, tokens in (("sys", texts.machine), ("ref", texts.reference)):
        links = aligner.align(texts.source, tokens)
        expected = sequences(tokens, "es", aligned_tags(tags, links, tokens), stop)
        for name in SEQUENCES:
            model = LanguageModel.from_tokens(expected[name], order=3)
            np.testing.assert_array_equal(
                made.models[f"{name}_{kind}"].score(expected[name]).log10, model.score(expected[name]).log10
            )


def test_edges_are_counted_in_both_texts(bundle: Bundle, texts: TranslatedCorpus) -> None:
    """As the family that learns from training rows counts them, of the same texts and annotation."""
    made, aligner = bundle.part("edge_counts"), bundle.part("aligner")
    assert isinstance(made, EdgeCounts) and isinstance(aligner, Aligner)
    lines = [" ".join(words) for words in lists(texts.source)]
    batch = Segments.from_columns(
        {"source": lines, "target": lines, "annotation_source": [chain(line) for line in lines]}, *EN_ES
    )
    own, other = (
        projections(parsed(batch.source_annotated), aligner.align(texts.source, tokens), tokens, "es")
        for tokens in (texts.machine, texts.reference)
    )
    expected = counted(own, other)
    assert made.counts == expected and {relation for relation, _, _ in expected["words"]} == {"dep"}


def test_a_corpus_without_dependencies_says_what_to_give(corpus: ParallelCorpus, tmp_path: Path) -> None:
    small = corpus.take(np.arange(200))
    bare = [block_of([(word, "_", "X", "x") for word in words]) for words in lists(small.source)]
    annotations = Annotations.alike({"source": from_column(bare)})
    refuses(
        "have no head.*--task dependencies", build, lambda: small, tmp_path / "b",
        ["source_dependency_annotation"], builders=annotations.builders(), wanted=annotations.wanted,
    )  # fmt: skip
