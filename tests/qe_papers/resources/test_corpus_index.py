"""The nearest corpus segment: equal to comparing with every segment of the corpus by rapidfuzz."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens
from qe_papers.resources.corpus_index import CorpusIndex
from tests.factories import PLAIN


def index(lines: Sequence[str]) -> CorpusIndex:
    corpus = ParallelCorpus.from_lines([(line, "x") for line in lines], PLAIN, PLAIN)
    return CorpusIndex.build(corpus, side="source")


def composed(text: str) -> str:
    """Unicode's form C, which corpora are read in."""
    return unicodedata.normalize("NFC", text)


def tokens(lines: Sequence[str]) -> Tokens:
    return Tokens.from_lists([line.split() for line in lines])


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
    neighbours = index(corpus).nearest(tokens(queries))
    for i, query in enumerate(queries):
        words = query.lower().split()
        distances = [Levenshtein.distance(words, line.split()) for line in corpus]
        assert neighbours.word_edits[i] == min(distances), query
        nearest = [line for line, d in zip(corpus, distances, strict=True) if d == min(distances)]
        assert neighbours.characters[i] == len(query)
        assert neighbours.character_edits[i] in {
            Levenshtein.distance(query.lower(), line) for line in nearest
        }
    assert neighbours.word_edits[-1] == neighbours.character_edits[-1] == 0


words = st.lists(st.sampled_from(["a", "b", "c", "é", "ñandú"]), min_size=1, max_size=8).map(" ".join)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(words, min_size=1, max_size=8), words)
def test_equal_on_anything(corpus: list[str], query: str) -> None:
    neighbours = index(corpus).nearest(tokens([query]))
    assert neighbours.word_edits[0] == min(
        Levenshtein.distance(query.split(), line.split()) for line in corpus
    )


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.text("aäb ", max_size=70).map(lambda line: " ".join(line.split())), min_size=1, max_size=8),
    st.text("aäbc ", max_size=140).map(lambda line: " ".join(line.split())),
)
def test_least_characters_equal_comparing_with_every_segment(corpus: list[str], query: str) -> None:
    """Also texts of several 64-character blocks, whose nearest segment by words is another one."""
    known = [line for line in corpus if line] or ["a"]
    neighbours = index(known).nearest(tokens([query]), by_characters=True)
    least = min(Levenshtein.distance(query, line) for line in known)
    assert neighbours.character_edits[0] == (least if query else -1)


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
    mixed = [
        a[: len(a) // 2] + "?" + b[len(b) // 2 :]
        for a, b in zip(corpus[::150], corpus[70::150], strict=False)
    ]
    queries = [
        *(composed(" ".join(query.split())) for query in mixed),
        line(3 * longest),
        letters[0],
        "?",
        corpus[7],
    ]
    neighbours = index(corpus).nearest(tokens(queries), by_characters=True)
    least = [min(Levenshtein.distance(query, segment) for segment in corpus) for query in queries]
    assert neighbours.character_edits.tolist() == least


def test_ties_go_to_the_segment_that_shares_most_words() -> None:
    """Both are two edits away; the second shares all words but one."""
    neighbours = index(["a x y", "b a c d"]).nearest(tokens(["a b c d"]))
    assert neighbours.word_edits.tolist() == [2]
    assert neighbours.character_edits[0] == Levenshtein.distance("a b c d", "b a c d")


def test_empty_texts_and_batches() -> None:
    neighbours = index(["a b"]).nearest(tokens(["", "a"]))
    assert neighbours.word_edits.tolist() == [-1, 1] and neighbours.characters.tolist() == [-1, 1]
    assert index(["a b"]).nearest(tokens([])).word_edits.shape == (0,)
    literal = index(["<s> a", "<unk>"]).nearest(
        tokens(["<s> a", "<unk>"])
    )  # markers in text are unknown words
    assert literal.word_edits.tolist() == [1, 1]
