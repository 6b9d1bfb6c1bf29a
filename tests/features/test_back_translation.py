"""Back-translations beside the source, which plays the reference; our own decoder can make them."""

import gzip
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from features import FittedExtractor, ParallelCorpus, Segments
from features.comparisons.phrase_decoder import decode
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.resources.phrase_table import PhraseTable
from features.second_translation import BackTranslation, PseudoReference
from tests.factories import EN_ES, Find

BY_DECODER = [
    {"kind": kind, "engine": "decoder"}
    for kind in ("back_translation", "inverted_scores", "phrase_templates")
]


def test_the_same_measures_as_against_a_pseudo_reference() -> None:
    back = Segments(("the red house .",), ("x",), back_translation=("a red house !",))
    pseudo = Segments(("x",), ("a red house !",), pseudo_reference=("the red house .",))
    np.testing.assert_array_equal(BackTranslation().extract(back), PseudoReference().extract(pseudo))


@pytest.fixture(scope="module")
def corpus(shared_data: Find) -> ParallelCorpus:
    columns = []
    for language in ("en", "es"):
        path = shared_data("alignment/en-es/cse256") / f"corpus.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            columns.append([line.rstrip("\n") for line in islice(stream, 1500)])
    return ParallelCorpus.from_lines(zip(*columns, strict=True), *EN_ES)


@pytest.fixture(scope="module")
def bundle(corpus: ParallelCorpus, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return build(
        lambda: corpus,
        tmp_path_factory.mktemp("back"),
        [*parts_needed(BY_DECODER), "phrase_table", "target_lm"],
    )


def texts_of(corpus: ParallelCorpus, rows: range) -> Segments:
    lines = [[" ".join(side.words(i)) for i in rows] for side in (corpus.source, corpus.target)]
    return Segments.from_columns({"source": lines[0], "target": lines[1]}, *EN_ES)


def test_the_table_is_that_of_the_swapped_corpus(bundle: Bundle, corpus: ParallelCorpus) -> None:
    """Phrase pairs are consistent with links whichever side is called source: the same pairs and counts."""
    table, back = bundle.part("phrase_table"), bundle.part("back_phrase_table")
    assert isinstance(table, PhraseTable) and isinstance(back, PhraseTable)
    words = texts_of(corpus, range(40))
    np.testing.assert_array_equal(
        back.phrases(words.target_tokens, "source"), table.phrases(words.target_tokens, "target")
    )
    rows = np.repeat(np.arange(len(table.source_keys)), np.diff(table.offsets))
    entries = {(int(s), int(t)): k for k, (s, t) in enumerate(zip(rows, table.target, strict=True))}
    again = np.repeat(np.arange(len(back.source_keys)), np.diff(back.offsets))
    order = [entries[int(s), int(t)] for t, s in zip(again, back.target, strict=True)]
    assert len(order) == len(table.target) > 1000
    np.testing.assert_array_equal(back.counts, table.counts[order])
    np.testing.assert_allclose(back.forward, table.backward[order])
    np.testing.assert_allclose(back.backward, table.forward[order])
    np.testing.assert_allclose(back.forward_weight, table.backward_weight[order], rtol=1e-5)


def test_the_decoder_leads_back_to_the_language_of_the_source(bundle: Bundle, corpus: ParallelCorpus) -> None:
    """Pairs that the decoder was built of come back better than with the translation of their neighbour."""
    extractor = make_extractor(BY_DECODER[0], bundle)
    segments = texts_of(corpus, range(100))
    bleu = list(extractor.names).index("decoder_back_translation_bleu")
    right = extractor.extract(segments)[:, bleu]
    wrong = extractor.extract(replace(segments, target=(*segments.target[1:], segments.target[0])))[:, bleu]
    assert extractor.requires() == ()
    assert right.mean() > 0.3 and right.mean() > 3 * wrong.mean()


@pytest.mark.parametrize("config", BY_DECODER, ids=lambda config: str(config["kind"]))
def test_values_are_those_of_a_column(config: dict[str, str], bundle: Bundle, corpus: ParallelCorpus) -> None:
    bare = texts_of(corpus, range(60))
    translated = decode(bare.target_tokens, bundle.part("back_phrase_table"), bundle.part("source_lm")).tokens  # type: ignore[arg-type]
    lines = [" ".join(translated.words(i)) for i in range(len(translated))]
    given = replace(bare, back_translation=tuple(lines))
    labels = {"scores": np.linspace(1, 5, 60), "post_edit": bare.target, "reference": bare.target[::-1]}
    names, values = [], []
    for segments, settings in ((bare, config), (given, {"kind": config["kind"]})):
        extractor = make_extractor(settings, bundle)
        fitted = extractor.fit(segments, labels) if isinstance(extractor, FittedExtractor) else extractor
        names.append(extractor.names)
        values.append(fitted.extract(segments))
    assert names[0] == tuple(f"decoder_{name}" for name in names[1])
    np.testing.assert_array_equal(values[0], values[1])
