"""Sequences by hand, perplexities by the models scored one by one."""

import numpy as np
import pytest

from features import ParallelCorpus, Segments, Tokenizer
from features.resources.aligner import AlignerBuilder
from features.resources.language_model import LanguageModel
from features.resources.word_lexicon import StopWords
from features.text.annotation import block_of
from features.text.tokens import Tokens
from qe_papers.extractors.sequences import SequenceLanguageModels
from qe_papers.learned.sequence_models import SEQUENCES

pytestmark = pytest.mark.slow

SOURCE, TARGET = Tokenizer("en", "whitespace"), Tokenizer("es", "whitespace")
PAIRS = [("the houses", "las casas"), ("of the house", "de la casa"), ("the red", "la roja"), ("of", "de")]
TAGS = {"the": "DT", "houses": "NNS", "house": "NN", "of": "IN", "red": "JJ"}


def segments(pairs: list[tuple[str, str]]) -> Segments:
    blocks = [block_of([(word, "_", "_", TAGS[word]) for word in source.split()]) for source, _ in pairs]
    columns = {"source": [p[0] for p in pairs], "target": [p[1] for p in pairs], "annotation_source": blocks}
    return Segments.from_columns(columns, SOURCE, TARGET)


def unfitted() -> SequenceLanguageModels:
    corpus = ParallelCorpus.from_lines(PAIRS * 20, SOURCE, TARGET)
    stop_words = StopWords.build(corpus, side="target", max_words=2)
    return SequenceLanguageModels(stop_words, AlignerBuilder().build(corpus))


def fitted() -> SequenceLanguageModels:
    return unfitted().fit(
        segments(PAIRS), {"reference": ["las casas", "de la casa", "la casa roja", "de la"]}
    )


def test_sequences_by_hand() -> None:
    """Stop words are `la` and `de`, twice in the four pairs each."""
    batch = segments([("of the houses", "de la casas"), ("of", "de")])
    made = unfitted()._sequences(batch, batch.target_tokens)
    assert {name: made[name].words(0) for name in SEQUENCES} == {
        "words": ["de", "la", "casas"],
        "roots": ["de", "la", "cas"],
        "suffixes": ["-", "-", "as"],
        "root_stop": ["de", "la", "cas"],
        "suffix_stop": ["de", "la", "as"],
        "pos_stop": ["de", "la", "NNS"],
        "chains": ["de_la"],
    }
    assert made["chains"].words(1) == []


def test_perplexities_are_those_of_the_models() -> None:
    extractor, batch = fitted(), segments([("of the houses", "de las casas")])
    row = dict(zip(extractor.names, extractor.extract(batch)[0].tolist(), strict=True))
    text = Tokens.from_lists([["de", "las", "casas"]])
    perplexity = {}
    for kind, lines in (
        ("sys", [target for _, target in PAIRS]),
        ("ref", ["las casas", "de la casa", "la casa roja", "de la"]),
    ):
        model = LanguageModel.from_tokens(TARGET.tokens(lines), order=3)
        perplexity[kind] = 10 ** -model.score(text).log10.mean()
    assert row["sequence_words_sys"] == pytest.approx(perplexity["sys"])
    assert row["sequence_words_sys_ref"] == pytest.approx(perplexity["sys"] / perplexity["ref"])
    assert row["sequence_words_ref_sys"] == pytest.approx(perplexity["ref"] / perplexity["sys"])
    assert len(row) == 21
    assert np.isnan(row["sequence_chains_sys"])  # no two stop words meet
