"""Templates of phrases: matches by hand, weights by scikit-learn on the matrix written out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVR

from features import Segments
from features.resources.aligner import AlignerBuilder
from features.resources.ngrams import NgramCounts
from features.resources.phrase_table import PhraseTable
from features.storage.damage import Damaged
from features.text.links import Links
from features.text.tokens import Tokens, Vocabulary
from qe_papers.extractors.phrase_templates import (
    TEMPLATES,
    PhraseTemplates,
    anchors,
    anchors_of_differences,
    ngrams,
    surrounded,
    unmatched,
)
from qe_papers.resources.phrase_words import Phrase, PhraseWords, PhraseWordsBuilder
from qe_papers.resources.source_splits import SourceSplits, SourceSplitsBuilder, split_places
from tests import factories
from tests.factories import PLAIN, refuses

# source, target, back-translation, post-edit, reference, score
ROWS = [
    ("the red house", "la casa rojo", "the house red", "la casa roja", "una casa roja", 1.0),
    ("a big dog", "un perro grande", "a big dog", "un perro grande", "un perro grande", 5.0),
    ("the dog barks", "el perro ladra", "the dog barks", "el perro ladra mucho", "el perro ladra", 4.8),
    ("red dog of house", "rojo perro de la casa", "red dog house", "perro rojo de casa", "perro rojo", 1.2),
    ("big red dog", "gran perro rojo", "big red dog", "gran perro rojo", "gran perro rojo", 3.0),
    ("a house", "una casa", "a house", "una casa", "una casa", 3.5),
]
# Phrases of the table, and the n-grams of the rows above that they are like, by hand.
SOURCE_PHRASES = {"a big dog too": ["a big dog"], "the barks dog": []}
TARGET_PHRASES = {
    "un perro grande y": ["un perro grande"],  # 3 of 3 and 4 words
    "rojo perro de la sala": ["rojo perro de la casa", "rojo perro de la"],  # 4 of 5 and 5; of 5 and 4
    "el perro ladra": [],  # itself
}


def segments(rows: Iterable[Sequence[Any]]) -> Segments:
    source, target, back_translation, *_ = zip(*rows, strict=True)
    return factories.segments(source, target, back_translation=back_translation)


def splits() -> SourceSplits:
    """`red house` and `dog of` are split, nothing else."""
    vocabulary = Vocabulary(["red", "house", "dog", "of"])
    pairs = [vocabulary.lookup(pair) for pair in (["red", "house"], ["dog", "of"])]
    codes = np.sort([int(a) * len(vocabulary) + int(b) for a, b in pairs])
    return SourceSplits(vocabulary=vocabulary, codes=codes, settings={}, corpus_fingerprint="x")


def phrase_words(phrases: Iterable[str]) -> PhraseWords:
    split = [phrase.split() for phrase in phrases]
    vocabulary = Vocabulary(sorted({word for words in split for word in words}))
    starts = np.cumsum([0, *map(len, split)], dtype=np.int64)
    words = vocabulary.lookup([word for phrase in split for word in phrase])
    return PhraseWords(vocabulary=vocabulary, starts=starts, words=words, settings={}, corpus_fingerprint="x")


def unfitted(corpus: NgramCounts, expanded: bool = True, **options: float) -> PhraseTemplates:
    source, target = phrase_words(SOURCE_PHRASES), phrase_words(TARGET_PHRASES)
    return PhraseTemplates(splits(), corpus, source, target, expanded=expanded, **options)


def fitted(expanded: bool = True) -> PhraseTemplates:
    corpus = NgramCounts.from_tokens(PLAIN.tokens(["la casa roja", "un perro", "el perro de casa"]), order=5)
    labels = {
        "scores": np.array([row[5] for row in ROWS]),
        "post_edit": [row[3] for row in ROWS],
        "reference": [row[4] for row in ROWS],
    }
    return unfitted(corpus, expanded).fit(segments(ROWS), labels)


def counts_of(extractor: PhraseTemplates, row: int) -> dict[str, float]:
    return factories.row(extractor, segments([ROWS[row]]), prefix="templates_")


def test_differences_and_anchors_by_hand() -> None:
    """Figure of section 3.2: prevWord s1 .. sn nextWord."""
    output, edited = ["p", "a", "b", "n", "q", "c"], ["p", "n", "q"]
    assert unmatched(output, edited) == [False, True, True, False, False, True]
    assert surrounded(output, edited) == [("p", "a", "b", "n"), ("q", "c")]
    assert anchors_of_differences(output, edited) == {("p", "a", "\t", "b", "n")}
    assert ("p", "a", "\t", "b", "n") in anchors(["p", "a", "x", "y", "b", "n"])
    assert ("p", "a", "\t", "a", "n") in anchors(["p", "a", "n"])
    assert ("p", "a", "\t", "b", "n") not in anchors(["b", "n", "p", "a"])
    assert len(ngrams(["a", "b", "c", "d", "e", "f"])) == 5 + 4 + 3 + 2


def test_counts_by_hand() -> None:
    row = counts_of(fitted(expanded=False), 3)
    assert row["reference"] == 0  # `rojo perro`, `perro de`, ... stand in no reference
    assert row["source_splits"] == 1  # dog of
    # Bigrams with a short word: perro de, de la, la casa; the corpus has `perro de` and `la casa`.
    assert row["function_words"] == 1
    # All ten 2-5-grams are of a bad translation; none stands in a good one.
    assert row["target_bad"] == 4 + 3 + 2 + 1 and row["target_good"] == 0
    assert row["source_bad"] == 3 + 2 + 1 and row["source_good"] == 0
    # Only `la` has no partner in `perro rojo de casa`: de la casa.
    assert row["edited"] == 3 and row["edited_anchors"] == 1
    # `of` does not come back: dog of house.
    assert row["inverted"] == 3 and row["inverted_anchors"] == 1


@pytest.mark.slow
def test_phrases_that_are_like_a_pattern_count_with_it() -> None:
    """A phrase counts once, however many patterns of a segment it is like, and in every template of these."""
    before, after = (counts_of(fitted(expanded), 3) for expanded in (False, True))
    assert {name for name in TEMPLATES if before[name] != after[name]} == {"target_bad"}
    assert after["target_bad"] == before["target_bad"] + 1
    before, after = (counts_of(fitted(expanded), 1) for expanded in (False, True))
    assert {name for name in TEMPLATES if before[name] != after[name]} == {
        "reference", "target_good", "source_good",
    }  # fmt: skip


def test_a_phrase_of_the_table_counts_where_a_segment_has_it() -> None:
    """p q r is in good and bad translations, and like p q r s and p q r t, which are in one of them each."""
    corpus = NgramCounts.from_tokens(PLAIN.tokens(["x"]), order=5)
    labels = {"scores": np.array([5.0, 1.0]), "post_edit": ["x", "x"], "reference": ["x", "x"]}
    training = segments([("x", "p q r s", "x"), ("x", "p q r t", "x")])
    known = phrase_words(["p q r"])
    extractor = PhraseTemplates(splits(), corpus, known, known).fit(training, labels)
    batch = segments([("x", "p q r", "x"), ("x", "q r s", "x"), ("x", "p q r s", "x")])
    values = factories.table(extractor, batch, "templates_target_")
    assert values["good"].tolist() == [1, 2, 4]  # the phrase; q r s, r s; these, p q r s and the phrase
    assert values["bad"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("expanded", [False, True])
def test_predictions_are_those_of_an_svr_on_the_sparse_matrix(expanded: bool) -> None:
    """The matrix is written out from the templates' definitions, divided by the mean length of its rows."""
    extractor = fitted(expanded)
    assert extractor.model is not None
    patterns, sizes = extractor.model.templates.patterns, extractor.model.sizes
    rows = [{"source": s.split(), "target": t.split()} for s, t, *_ in ROWS]
    sides = {name: "source" if name.startswith(("source", "inverted")) else "target" for name in TEMPLATES}
    columns = [(name, p, {p}) for name in patterns for p in sorted(patterns[name])]
    tables = {"source": SOURCE_PHRASES, "target": TARGET_PHRASES}
    columns += [
        (name, tuple(phrase.split()), {tuple(phrase.split()), *like})
        for name in patterns
        if expanded
        for phrase, grams in tables[sides[name]].items()
        if (like := {tuple(gram.split()) for gram in grams} & patterns[name])
    ]
    for name in patterns:
        assert sizes[name] == sum(own == name for own, _, _ in columns)
    assert sum(map(len, patterns.values())) + (4 if expanded else 0) == len(columns)
    extra = [("source_splits", p, {p}) for p in (("red", "house"), ("dog", "of"))]
    pairs = ("la casa", "casa roja", "un perro", "el perro", "perro de", "de casa")
    known = {tuple(pair.split()) for pair in pairs}
    short = {
        p for r in rows for p in zip(r["target"][:-1], r["target"][1:], strict=True) if min(map(len, p)) < 4
    }
    extra += [("function_words", p, {p}) for p in sorted(short - known)]

    def cells(row: dict[str, list[str]]) -> list[float]:
        units = {name: (anchors if "anchors" in name else ngrams)(row[side]) for name, side in sides.items()}
        return [bool(has & units[name]) / sizes[name] for name, _, has in columns + extra]

    matrix = np.array([cells(row) for row in rows])
    assert sizes["function_words"] == len(short - known) and sizes["source_splits"] == 2
    scale = np.linalg.norm(matrix, axis=1).mean()
    scores = np.array([row[5] for row in ROWS])
    expected = SVR(kernel="linear", C=1.0, epsilon=0.2).fit(matrix / scale, scores).predict(matrix / scale)
    predicted = extractor.extract(segments(ROWS))[:, -1]
    np.testing.assert_allclose(predicted, expected, atol=1e-6)


def test_saved_restored_and_damaged(tmp_path: Path) -> None:
    extractor, batch = fitted(), segments([*(row[:3] for row in ROWS), ("", "", "")])
    extractor.save(tmp_path)
    again = unfitted(extractor.target_ngrams5).restore(tmp_path)
    np.testing.assert_array_equal(again.extract(batch), extractor.extract(batch))
    assert np.isnan(again.extract(batch)[-1, -1]) and not again.extract(batch)[-1, :-1].any()
    (tmp_path / "templates.json").write_text('{"intercept": 1.0}')
    refuses("damaged", again.restore, tmp_path, error=ValueError)
    refuses("must differ", unfitted, extractor.target_ngrams5, bad=2, good=2)


def test_low_labels_can_be_the_good_ones() -> None:
    """HTER: bad above .6, good below .2."""
    corpus = NgramCounts.from_tokens(PLAIN.tokens(["x"]), order=5)
    labels = {"scores": np.array([0.9, 0.1]), "post_edit": ["a b", "c d"], "reference": ["a b", "c d"]}
    batch = segments([("a b", "a b", "a b"), ("c d", "c d", "c d")])
    model = unfitted(corpus, bad=0.6, good=0.2).fit(batch, labels).model
    assert model is not None
    assert model.templates.patterns["target_bad"] == {("a", "b")}
    assert model.templates.patterns["target_good"] == {("c", "d")}


def test_split_bigrams_by_hand() -> None:
    """a-1, b-2 and 3, c-5, d unlinked, e-0; the next text begins anew."""
    source = Tokens.from_lists([["a", "b", "c", "d", "e"], ["a", "c"], ["b"]])
    links = Links.from_pharaoh(["0-1 1-2 1-3 2-5 4-0", "0-4 1-2", "0-0"])
    assert split_places(source, links).tolist() == [False, True, False, False, False, True, False, False]


@pytest.mark.slow
def test_the_resource_keeps_what_its_aligner_splits() -> None:
    lines = [("a b c", "A B C"), ("a b", "A B"), ("b c", "B C"), ("a", "A"), ("b", "B"), ("c", "C")] * 20
    corpus = factories.corpus([*lines, ("a b", "B C A")])
    aligner = AlignerBuilder().build(corpus)
    made = SourceSplitsBuilder(aligner=aligner).build(corpus)
    expected = {
        (corpus.source.words(i)[k], corpus.source.words(i)[k + 1])
        for i in range(len(corpus))
        for k in range(len(corpus.source.words(i)) - 1)
        if split_places(corpus.source.take(np.array([i])), aligner.align(
            corpus.source.take(np.array([i])), corpus.target.take(np.array([i]))))[k]
    }  # fmt: skip
    tokens = Tokens.from_lists([["a", "b", "c", "a"], ["B", "c"]])
    places = made.split(tokens).tolist()
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), None, ("b", "c"), None]
    assert places == [pair in expected for pair in pairs]
    assert len(made) == len(expected)


def words_of(lines: list[str]) -> PhraseWords:
    """Every n-gram of the lines is a phrase: they are their own translations, word by word."""
    corpus = factories.corpus((line, line.upper()) for line in lines)
    links = Links.from_pharaoh([" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines])
    table = PhraseTable.from_links(corpus, links, minimum=1)
    return PhraseWordsBuilder(phrase_table=table, side="source").build(corpus)


def phrases_of(words: PhraseWords) -> list[Phrase]:
    return [words.phrase(place) for place in range(len(words))]


def sequence(one: Phrase, other: Phrase) -> int:
    """Words of the longest common subsequence: of all subsequences."""
    return max(
        n for n in range(len(one) + 1) if set(combinations(one, n)) & set(combinations(other, n))
    )  # fmt: skip


def segment(one: Phrase, other: Phrase) -> int:
    spans = lambda text: {text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)}  # noqa: E731
    return max(map(len, spans(one) & spans(other)))


def test_against_every_pair() -> None:
    words = words_of([" ".join(letters) for letters in product("ab", "ab", "bc", "ac", "ab")])
    patterns = [*phrases_of(words), ("a", "b"), ("a", "x", "b", "c", "a"), ("a", "b", "c", "a", "x", "b")]
    expected = {
        g: {
            p
            for p in phrases_of(words)
            if p != g and sequence(p, g) ** 2 * 10 > 6 * len(p) * len(g) and segment(p, g) >= 3
        }
        for g in patterns
    }
    found = {g: set(phrases) for g, phrases in words.similar(patterns).items()}
    assert found == {g: phrases for g, phrases in expected.items() if phrases}
    assert words.similar(patterns) == words.similar(patterns[::-1])  # those that are known by now too


def test_longer_phrases_than_there_can_be_are_damage() -> None:
    """Compiled code has room for five words."""
    words = words_of(["a b c d e f"])
    words.check_arrays()
    refuses("lengths", replace(words, starts=np.array([0, len(words.words)])).check_arrays, error=Damaged)
