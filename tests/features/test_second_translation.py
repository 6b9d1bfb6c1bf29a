"""Second translations and back-translations: sacrebleu, counts by hand, our own decoder."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from features import FittedExtractor, ParallelCorpus, Segments, Tokenizer
from features.comparisons.phrase_decoder import decode
from features.core.bundle import Bundle, build
from features.core.feature_set import make_extractor, parts_needed
from features.second_translation import BackTranslation, ErrorClasses, PseudoReference
from qe.data import from_post_edits
from qe.data.format import FORMATS
from tests.factories import EN_ES, Find, europarl, row, rows, segments


def values(targets: Sequence[str], others: Sequence[str]) -> list[dict[str, float]]:
    return rows(PseudoReference(), segments("x", targets, pseudo_reference=others), "pseudo_reference_")


def test_by_hand() -> None:
    features = values(["la Casa roja es roja ."], ["la casa es roja"])[0]
    assert features["precision_1"] == 4 / 6  # the second `roja` and the full stop are too many
    assert features["precision_2"] == 2 / 5 and features["recall_2"] == 2 / 3  # la casa, es roja
    assert features["precision_3"] == features["recall_4"] == 0
    assert features["words_only_in_text"] == 2 and features["words_only_in_other"] == 0
    assert features["word_edits"] == 2 and features["word_distance"] == 2 / 6
    assert features["length_ratio"] == 1.5
    assert features["character_edits"] == 7 and features["character_distance"] == 7 / 22
    assert features["ter"] == 2 / 4
    precisions = [4 / 6, 3 / 6, 1 / 5, 1 / 4]  # one added from bigrams on
    assert features["bleu"] == pytest.approx(np.prod(precisions) ** 0.25)


def test_brevity_penalty_by_hand() -> None:
    """4 words against 6: exp(1 - 6/4); a longer text has none. The old column stays as it was."""
    batch = segments("x", ["a b c d", "a b c d e", ""], pseudo_reference=["a b c d e f", "a b", "a"])
    extractor = PseudoReference(brevity_penalty=True)
    found = extractor.extract(batch)
    assert extractor.names == (*PseudoReference().names, "pseudo_reference_bleu_penalised")
    assert found[0, [0, -1]] == pytest.approx([1.0, np.exp(-0.5)])
    assert found[1, 0] == found[1, -1] == pytest.approx((2 / 5 * 2 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert np.isnan(found[2]).all()


def test_word_error_rate_is_of_the_second_text_s_words() -> None:
    """Like sacreBLEU's TER without shifts: 2 of 4 words, 3 of 1; `word_distance` stays at most 1."""
    batch = segments("x", ["a b c d e f", "a b c", ""], pseudo_reference=["a b c d", "x", "a"])
    extractor = PseudoReference(word_error_rate=True)
    found = extractor.extract(batch)
    assert extractor.names == (*PseudoReference().names, "pseudo_reference_word_error_rate")
    assert found[:2, -1].tolist() == [2 / 4, 3 / 1] and np.isnan(found[2]).all()


PAIRS = [
    ("this week the saudis denied information published in the times",
     "saudi arabia denied this week information published in the american times"),
    ("a b c d e f", "d e f a b c"),
    ("el gato", "el gato negro duerme en la casa de la abuela"),
    ("uno dos tres", "cuatro cinco"),
    ("niño corazón", "nino corazon"),
    ("x", "x"),
    ("a a a a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "other"), PAIRS)
def test_equal_to_sacrebleu(text: str, other: str) -> None:
    features = values([text], [other])[0]
    assert 100 * features["chrf"] == pytest.approx(CHRF().sentence_score(text, [other]).score, abs=1e-9)
    assert 100 * features["ter"] == pytest.approx(TER().sentence_score(text, [other]).score, abs=1e-9)


texts = st.lists(st.sampled_from("abc"), min_size=1, max_size=9).map(" ".join)


@pytest.mark.slow
@given(texts, texts)
def test_laws(left: str, right: str) -> None:
    forward, backward, same = values([left, right, left], [right, left, left])
    for n in range(1, 5):
        np.testing.assert_equal(forward[f"precision_{n}"], backward[f"recall_{n}"])
    assert forward["words_only_in_text"] == backward["words_only_in_other"]
    assert forward["word_edits"] == backward["word_edits"]
    assert forward["character_edits"] == backward["character_edits"]
    assert 0 <= forward["word_distance"] <= 1 and 0 <= forward["bleu"] <= 1
    assert forward["ter"] * len(right.split()) <= forward["word_edits"]  # shifts only save edits
    assert same["bleu"] == same["chrf"] == same["length_ratio"] == 1
    assert same["ter"] == same["word_edits"] == same["character_distance"] == 0


def test_equal_to_the_labels_against_the_post_edit(shared_data: Find) -> None:
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"].take(range(300))
    assert train.post_edit is not None
    plain = Tokenizer("es", normalise=False)
    segments = replace(train.segments, pseudo_reference=train.post_edit, target_tokenizer=plain)
    labels = from_post_edits(train.segments.target, train.post_edit, "es")
    np.testing.assert_array_equal(ErrorClasses().extract(segments)[:, :10], labels.errors.rates())


def test_error_classes_by_hand() -> None:
    edited = {"target": "Las ayer casas roja .", "pseudo_reference": "las casas rojas ."}
    errors = row(ErrorClasses(), segments(tokenizers=(Tokenizer("en"), Tokenizer("es")), **edited))
    assert errors["class_errors_infer"] == errors["class_errors_binfer"] == 1 / 5  # roja / rojas
    assert errors["class_errors_exter"] == 1 / 5  # ayer
    assert errors["class_errors_rer"] == errors["class_errors_miser"] == errors["class_errors_lexer"] == 0
    assert errors["class_errors_wsumer"] == pytest.approx(2 / 5)


@pytest.mark.parametrize("language", ["gu", "ko", "sr", "vi"])
def test_reordering_is_known_in_a_language_without_base_forms(language: str) -> None:
    tokenizers = Tokenizer("en"), Tokenizer(language, "whitespace")
    errors = row(ErrorClasses(), segments("a", "b c d", tokenizers, pseudo_reference="c b e"))
    known = {name: value for name, value in errors.items() if not np.isnan(value)}
    assert known == {"class_errors_rer": 2 / 3, "class_errors_brer": 1 / 3}  # b and c, side by side


BY_DECODER = [
    {"kind": kind, "engine": "decoder"}
    for kind in ("back_translation", "inverted_scores", "phrase_templates")
]


def test_the_same_measures_as_against_a_pseudo_reference() -> None:
    back = segments("the red house .", back_translation="a red house !")
    pseudo = segments("x", "a red house !", pseudo_reference="the red house .")
    np.testing.assert_array_equal(BackTranslation().extract(back), PseudoReference().extract(pseudo))


@pytest.fixture(scope="module")
def corpus(shared_data: Find) -> ParallelCorpus:
    return ParallelCorpus.from_lines(europarl(shared_data, 1500), *EN_ES)


@pytest.fixture(scope="module")
def bundle(corpus: ParallelCorpus, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    parts = [*parts_needed(BY_DECODER), "phrase_table", "target_lm"]
    return build(lambda: corpus, tmp_path_factory.mktemp("back"), parts)


def texts_of(corpus: ParallelCorpus, rows: range) -> Segments:
    lines = [[" ".join(side.words(i)) for i in rows] for side in (corpus.source, corpus.target)]
    return Segments.from_columns({"source": lines[0], "target": lines[1]}, *EN_ES)


def test_the_table_is_that_of_the_swapped_corpus(bundle: Bundle, corpus: ParallelCorpus) -> None:
    """Phrase pairs are consistent with links whichever side is called source: the same pairs and counts."""
    table, back = bundle.part("phrase_table"), bundle.part("back_phrase_table")
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
    for batch, settings in ((bare, config), (given, {"kind": config["kind"]})):
        extractor = make_extractor(settings, bundle)
        fitted = extractor.fit(batch, labels) if isinstance(extractor, FittedExtractor) else extractor
        names.append(extractor.names)
        values.append(fitted.extract(batch))
    assert names[0] == tuple(f"decoder_{name}" for name in names[1])
    np.testing.assert_array_equal(values[0], values[1])
