"""Segments of the corpus near to a text: rapidfuzz, sacrebleu and the definitions as oracles."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.bleu import BLEU

from features.text.tokens import Tokens
from qe_papers.extractors.corpus_matches import EditDistance, ExamplePrecision, SkipGrams, ranked
from qe_papers.extractors.similarity import Similarity
from qe_papers.resources.corpus_index import CorpusIndex
from qe_papers.resources.ngram_documents import NgramDocuments
from tests.factories import PLAIN, corpus, paired, row, segments, tokens

ROWS = [
    ("s1 a b", "the cat sat on the mat", "the cat sat on the mat"),
    ("s2 c d", "dogs bark loudly today", "a dog barked very loudly"),
    ("s3 e f", "the house is red and big", "the house is very red and big"),
    ("s4 g h", "no one word fits", "q w e r"),
    ("s5 i j", "he comes", "he comes from a far away land"),
]


def fitted(rows: list[tuple[str, str, str]] = ROWS) -> ExamplePrecision:
    return ExamplePrecision().fit(paired(rows), {"reference": [reference for _, _, reference in rows]})


def test_rows_are_ranked_as_sacrebleu_ranks_them() -> None:
    """Add-one smoothing from bigrams on, effective order, brevity penalty: sacrebleu's sentence scores."""
    bleu = BLEU(smooth_method="add-k", smooth_value=1, effective_order=True, tokenize="none")
    scores = [bleu.sentence_score(target, [reference]).score for _, target, reference in ROWS]
    order = ranked(PLAIN.tokens([row[1] for row in ROWS]), PLAIN.tokens([row[2] for row in ROWS]))
    assert order.tolist() == np.argsort(-np.array(scores), kind="stable").tolist()


@pytest.mark.slow
def test_precisions_by_hand() -> None:
    """Two of five rows a quarter: 1 and 3 best, 2 and 4 worst (5 has short matches alone, but matches)."""
    order = ranked(PLAIN.tokens([row[1] for row in ROWS]), PLAIN.tokens([row[2] for row in ROWS]))
    assert set(order[:2].tolist()) == {0, 2} and order[-1] == 3
    values = row(fitted(), segments("s1 a z", "the red cat"))
    # s1 a z: 2 of 3 words, one of two bigrams, no trigram, each but the first with one added.
    assert values["example_precision_source_best"] == pytest.approx((2 / 3 * 2 / 3 * 1 / 2) ** (1 / 3))
    assert values["example_precision_source_worst"] == 0
    # the red cat: all three words of the references, no bigram.
    assert values["example_precision_target_best"] == pytest.approx((1 * 1 / 3 * 1 / 2) ** (1 / 3))
    assert values["example_precision_target_worst"] == 0


def test_targets_are_compared_with_references_not_with_translations() -> None:
    values = fitted().extract(segments("x", ["very", "today"]))
    assert values[0, 2] == 1  # of the best: `very red`
    assert values[1].tolist() == [0, 0, 0, 0]  # `today` is of a translation alone


def test_by_hand() -> None:
    pairs = [("the red house", "la casa roja"), ("a long walk by the sea", "un largo paseo por el mar")]
    extractor = EditDistance(*indices(pairs))
    found = extractor.extract(segments(["The red mouse", ""], ["la casa", "La casa roja"]))
    np.testing.assert_allclose(found, [[1 / 3, 1 / 13, 1 / 2, 5 / 7], [np.nan, np.nan, 0, 0]])
    assert extractor.names[0] == "edit_distance_source_words" and len(extractor.names) == 4


def test_least_characters_by_hand() -> None:
    """`tea sea` shares a word with the first segment, and most letters with the second."""
    sides, batch = indices([("sea view", "x"), ("team seat", "x")]), segments("tea sea")
    near, least = EditDistance(*sides), EditDistance(*sides, characters="nearest")
    np.testing.assert_allclose(near.extract(batch)[0, :2], [2 / 2, 4 / 7])
    np.testing.assert_allclose(least.extract(batch)[0, :2], [2 / 2, 2 / 7])
    assert "nearest by words" in near.features[1].description
    assert "least character" in least.features[1].description


CORPUS = [line.split() for line in ("a b c d", "a b a b", "c d e", "a", "b c d e f")]
DOCUMENTS = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
Gapped = tuple[str | None, ...]  # None: a word left out


def extractor(**parameters: Any) -> SkipGrams:
    return SkipGrams(DOCUMENTS, DOCUMENTS, **parameters)


def values(text: Sequence[str], **parameters: Any) -> dict[str, float]:
    batch = segments(["a c x", "x"], ["b", " ".join(text)])
    return row(extractor(**parameters), batch, 1, "skip_grams_target_")


def padded(words: Sequence[str], marks: int) -> list[str]:
    return ["<"] * marks + list(words) + [">"] * marks


def in_corpus(gapped: Gapped) -> bool:
    n = len(gapped)
    return any(
        all(kept in (None, text[i + j]) for j, kept in enumerate(gapped))
        for text in (padded(words, 3) for words in CORPUS)
        for i in range(len(text) - n + 1)
    )


def trimmed(gapped: list[str | None]) -> Gapped:
    while gapped[0] is None:
        gapped = gapped[1:]
    while gapped[-1] is None:
        gapped = gapped[:-1]
    return tuple(gapped)


def value(gapped: Gapped) -> float:
    if in_corpus(gapped):
        return 1.0
    kept = [place for place, word in enumerate(gapped) if word is not None]
    if len(kept) == 1:
        return 0.0
    less = [trimmed([None if i == j else word for i, word in enumerate(gapped)]) for j in kept]
    return 0.5 * sum(map(value, less)) / len(less)


def expected(words: Sequence[str], pattern: str, boundaries: bool) -> float:
    text = padded(words, len(pattern) - 1 if boundaries else 0)
    found = [
        value(tuple(text[i + j] if mark == "1" else None for j, mark in enumerate(pattern)))
        for i in range(len(text) - len(pattern) + 1)
    ]
    return sum(found) / len(found) if words and found else float("nan")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.sampled_from("abcdefx"), max_size=7))
def test_equal_to_the_definition(words: list[str]) -> None:
    found = values(words)
    assert len(found) == 12
    for pattern in ("101", "1001", "1011", "1101", "111", "1111"):
        for boundaries in (False, True):
            name = pattern + ("_boundary" if boundaries else "")
            assert found[name] == pytest.approx(expected(words, pattern, boundaries), nan_ok=True), name


def test_pairs_of_words_are_those_of_similarity() -> None:
    """Bigrams have no word to leave out between them."""
    batch = segments(["a b x c d", "x"], ["c d e a", "b"])
    pairs = extractor(patterns=["11"], boundaries=[True]).extract(batch)
    settings = {"matching_orders": (2,), "boundaries": (True,), "weightings": ("one",)}
    np.testing.assert_allclose(pairs, Similarity(DOCUMENTS, DOCUMENTS, (), **settings).extract(batch))


def indices(pairs: Iterable[tuple[str, str]]) -> list[CorpusIndex]:
    texts = corpus(pairs)
    return [CorpusIndex.build(texts, side=side) for side in ("source", "target")]


def index(lines: Sequence[str]) -> CorpusIndex:
    return indices([(line, "x") for line in lines])[0]


def composed(text: str) -> str:
    """Unicode's form C, which corpora are read in."""
    return unicodedata.normalize("NFC", text)


def random_lines(seed: int, n: int, longest: int) -> list[str]:
    """Frequent words, many of them several times, and rare ones; some twice over."""
    random = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(400)]
    shares = 1 / np.arange(1, 401)
    lengths = random.integers(1, longest, n)
    return [" ".join(random.choice(words, size, p=shares / shares.sum())) for size in lengths]


@pytest.mark.slow
@pytest.mark.parametrize("longest", [12, 40, 150, 400])
def test_equal_to_comparing_with_every_segment(longest: int) -> None:
    corpus = random_lines(0, 600, longest)
    queries = [*random_lines(1, 60, longest), "unknown words only", "W1 w2 unknown w1 w1 w1 w1", corpus[17]]
    neighbours = index(corpus).nearest(tokens(*queries))
    for i, query in enumerate(queries):
        words = query.lower().split()
        distances = [Levenshtein.distance(words, line.split()) for line in corpus]
        assert neighbours.word_edits[i] == min(distances), query
        nearest = [line for line, d in zip(corpus, distances, strict=True) if d == min(distances)]
        assert neighbours.characters[i] == len(query)
        possible = {Levenshtein.distance(query.lower(), line) for line in nearest}
        assert neighbours.character_edits[i] in possible
    assert neighbours.word_edits[-1] == neighbours.character_edits[-1] == 0


words = st.lists(st.sampled_from(["a", "b", "c", "é", "ñandú"]), min_size=1, max_size=8).map(" ".join)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("letters", "longest"), [("ab ", 30), ("etaoin shrdlu", 130), ("añ語🙂 \u0301xyz", 400)]
)
def test_least_characters_in_many_blocks(letters: str, longest: int) -> None:
    """More segments than are compared at a time, of every length; queries longer and shorter than all."""
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, len(letters) + 1)

    def line(size: int) -> str:
        drawn = "".join(random.choice(list(letters), size, p=shares / shares.sum()))
        return composed(" ".join(drawn.split()) or letters[0])

    corpus = sorted({line(size) for size in random.integers(1, longest, 1800)})
    pairs = zip(corpus[::150], corpus[70::150], strict=False)
    mixed = [f"{a[: len(a) // 2]}?{b[len(b) // 2 :]}" for a, b in pairs]
    queries = [composed(" ".join(query.split())) for query in mixed]
    queries += [line(3 * longest), letters[0], "?", corpus[7]]
    neighbours = index(corpus).nearest(tokens(*queries), by_characters=True)
    least = [min(Levenshtein.distance(query, segment) for segment in corpus) for query in queries]
    assert neighbours.character_edits.tolist() == least


def test_ties_go_to_the_segment_that_shares_most_words() -> None:
    """Both are two edits away; the second shares all words but one."""
    neighbours = index(["a x y", "b a c d"]).nearest(tokens("a b c d"))
    assert neighbours.word_edits.tolist() == [2]
    assert neighbours.character_edits[0] == Levenshtein.distance("a b c d", "b a c d")


def test_empty_texts_and_batches() -> None:
    neighbours = index(["a b"]).nearest(tokens("", "a"))
    assert neighbours.word_edits.tolist() == [-1, 1] and neighbours.characters.tolist() == [-1, 1]
    assert index(["a b"]).nearest(tokens()).word_edits.shape == (0,)
    literal = index(["<s> a", "<unk>"]).nearest(tokens("<s> a", "<unk>"))
    # Markers in text are unknown words.
    assert literal.word_edits.tolist() == [1, 1]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(words, min_size=1, max_size=8), words)
def test_equal_on_anything(corpus: list[str], query: str) -> None:
    neighbours = index(corpus).nearest(tokens(query))
    least = min(Levenshtein.distance(query.split(), line.split()) for line in corpus)
    assert neighbours.word_edits[0] == least


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.text("aäb ", max_size=70).map(lambda line: " ".join(line.split())), min_size=1, max_size=8),
    st.text("aäbc ", max_size=140).map(lambda line: " ".join(line.split())),
)
def test_least_characters_equal_comparing_with_every_segment(corpus: list[str], query: str) -> None:
    """Also texts of several 64-character blocks, whose nearest segment by words is another one."""
    known = [line for line in corpus if line] or ["a"]
    neighbours = index(known).nearest(tokens(query), by_characters=True)
    least = min(Levenshtein.distance(query, line) for line in known)
    assert neighbours.character_edits[0] == (least if query else -1)
