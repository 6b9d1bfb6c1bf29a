"""Kneser-Ney against the formulas in dictionaries, values by hand, and kenlm; the tuple language model."""

import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.resources._ngram_models import discounts
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.tuple_lm import TupleLM, units
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens
from tests.factories import refuses

Ngram = tuple[str, ...]


class DictionaryModel:
    """Interpolated modified Kneser-Ney straight from the formulas, one dictionary per order."""

    def __init__(self, texts: list[list[str]], order: int) -> None:
        self.order = order
        raw: list[Counter[Ngram]] = [Counter() for _ in range(order + 1)]
        for text in texts:
            marked = ["<s>", *text, "</s>"]
            for n in range(1, order + 1):
                raw[n].update(tuple(marked[i : i + n]) for i in range(len(marked) - n + 1))
        self.counts: list[dict[Ngram, int]] = [{} for _ in range(order + 1)]
        self.counts[order] = dict(raw[order])
        for n in range(1, order):
            preceded: dict[Ngram, set[str]] = defaultdict(set)
            for ngram in raw[n + 1]:
                preceded[ngram[1:]].add(ngram[0])
            for ngram, count in raw[n].items():
                self.counts[n][ngram] = count if ngram[0] == "<s>" else len(preceded[ngram])
        self.counts[1].pop(("<s>",), None)
        self.words = sorted({w for text in texts for w in text} | {"<unk>", "</s>"})
        self.discounts = [(0.0, 0.0, 0.0)]
        for n in range(1, order + 1):
            of = Counter(self.counts[n].values())
            self.discounts.append(discounts((of[1], of[2], of[3], of[4])).values)

    def probability(self, word: str, context: Ngram) -> float:
        """Equation by equation; contexts that were not seen hand over to the shorter one."""
        n = len(context) + 1
        lower = self.probability(word, context[1:]) if context else 1 / len(self.words)
        seen = {g: c for g, c in self.counts[n].items() if g[:-1] == context}
        total = sum(seen.values())
        if not total:
            return lower
        discount = self.discounts[n]
        gamma = sum(discount[min(c, 3) - 1] for c in seen.values()) / total
        count = seen.get((*context, word), 0)
        own = count - discount[min(count, 3) - 1] if count else 0.0
        return own / total + gamma * lower

    def log10(self, text: list[str]) -> list[float]:
        marked = ["<s>", *text, "</s>"]
        return [
            math.log10(self.probability(marked[i], tuple(marked[max(0, i - self.order + 1) : i])))
            for i in range(1, len(marked))
        ]


def random_texts(seed: int, n: int, words: int = 30) -> list[list[str]]:
    """Zipfian text: enough singletons for all discounts to be defined."""
    rng = np.random.default_rng(seed)
    return [[f"w{min(k, words)}" for k in rng.zipf(1.6, rng.integers(0, 9))] for _ in range(n)]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_equals_the_formulas_in_dictionaries(order: int) -> None:
    texts = random_texts(1, 150, words=300)
    unseen = [*random_texts(2, 15, words=300), ["w1", "never", "w2"], []]
    model = LanguageModel.from_tokens(Tokens.from_lists(texts), order=order)
    oracle = DictionaryModel(texts, order)
    assert all(s["rule"] == "modified-kneser-ney" for s in model.settings["smoothing"])
    scores = model.score(Tokens.from_lists(unseen))
    known = set(oracle.words)
    expected = [
        x for text in unseen for x in oracle.log10([word if word in known else "<unk>" for word in text])
    ]
    np.testing.assert_allclose(scores.log10, expected, atol=2e-6)


def test_bigram_values_worked_by_hand() -> None:
    """Two texts, `a b` and `a c`; bigrams <s>a 2, ab 1, ac 1, b</s> 1, c</s> 1.

    Unigram counts are numbers of predecessors: a 1 (<s>), b 1 (a), c 1 (a), </s> 2 (b, c); total 5.
    Counts of counts, order 1: n1 3, n2 1, n3 0: no D3, so one discount Y = 3 / (3 + 2) = 0.6.
    Order 2: n1 4, n2 1, n3 0: Y = 4 / (4 + 2) = 2/3.
    Uniform over a b c </s> <unk>: 0.2. Unigram gamma = 4 * 0.6 / 5 = 0.48, so <unk> = 0.48 * 0.2 = 0.096,
    a = b = c = 0.4 / 5 + 0.096 = 0.176, </s> = 1.4 / 5 + 0.096 = 0.376; with <unk> they sum to 1.
    p(a | <s>) = (2 - 2/3) / 2 + (2/3 / 2) * 0.176 = 2/3 + 0.176/3; p(b | a) = (1/3) / 2 + (2/3) * 0.176;
    p(</s> | b) = 1/3 + (2/3) * 0.376; p(c | b) = (2/3) * 0.176.
    """
    model = LanguageModel.from_tokens(Tokens.from_lists([["a", "b"], ["a", "c"]]), order=2)
    assert [s["rule"] for s in model.settings["smoothing"]] == ["kneser-ney", "kneser-ney"]
    scores = model.score(Tokens.from_lists([["a", "b"], ["x"], ["a", "b", "c"]]))
    a, b, end = 2 / 3 + 0.176 / 3, 1 / 6 + 2 / 3 * 0.176, 1 / 3 + 2 / 3 * 0.376
    unk, c = 1 / 3 * 0.096, 2 / 3 * 0.176
    expected = [a, b, end, unk, 0.376, a, b, c, end]  # after <unk>, </s> stands alone
    np.testing.assert_allclose(10**scores.log10, expected, rtol=1e-6)
    assert scores.matched.tolist() == [2, 2, 2, 0, 1, 2, 2, 1, 2]
    assert scores.backoff.tolist() == [0, 0, 0, 2, 1, 0, 0, 1, 0]
    assert scores.offsets.tolist() == [0, 3, 5, 9]


def test_modified_discounts_worked_by_hand() -> None:
    """n1..n4 = 12, 4, 2, 1: Y = 12/20; D1 = 1 - 1.2 * 4/12, D2 = 2 - 1.8 * 2/4, D3 = 3 - 2.4 * 1/2."""
    estimated = discounts((12, 4, 2, 1))
    assert estimated.rule == "modified-kneser-ney"
    assert estimated.values == pytest.approx((0.6, 1.1, 1.8))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("prune", [False, True])
def test_probabilities_sum_to_one_in_any_context(direction: Any, prune: bool) -> None:
    texts = Tokens.from_lists(random_texts(3, 80, words=12))
    model = LanguageModel.from_tokens(texts, order=4, direction=direction, prune=prune)
    words = [*model.vocabulary.words[3:], "never"]
    for context in (["w1", "w2"], ["w3"], ["w2", "w1", "w1"], ["never", "w1"], []):
        at = 0 if direction == "backward" else len(context)
        candidates = [[w, *context] if direction == "backward" else [*context, w] for w in words]
        scores = model.score(Tokens.from_lists(candidates))
        last = scores.log10[scores.offsets[:-1] + at]
        end = model.score(Tokens.from_lists([context])).log10[-1]
        assert (10**last).sum() + 10**end == pytest.approx(1, abs=1e-5)


def test_backward_is_forward_on_reversed_text() -> None:
    texts, unseen = random_texts(4, 50), random_texts(5, 10)
    reverse = [text[::-1] for text in texts]
    backward = LanguageModel.from_tokens(Tokens.from_lists(texts), order=3, direction="backward")
    forward = LanguageModel.from_tokens(Tokens.from_lists(reverse), order=3)
    ours = backward.score(Tokens.from_lists(unseen))
    theirs = forward.score(Tokens.from_lists([text[::-1] for text in unseen]))
    for begin, end in pairwise(ours.offsets):
        np.testing.assert_allclose(ours.log10[begin : end - 1], theirs.log10[begin : end - 1][::-1])
        assert ours.log10[end - 1] == theirs.log10[end - 1]


def test_pruning_drops_singletons_and_nothing_else() -> None:
    texts = random_texts(6, 200)
    whole = LanguageModel.from_tokens(Tokens.from_lists(texts), order=3)
    pruned = LanguageModel.from_tokens(Tokens.from_lists(texts), order=3, prune=True)
    marked = [["<s>", *text, "</s>"] for text in texts]
    trigrams = Counter(tuple(m[i : i + 3]) for m in marked for i in range(len(m) - 2))
    assert whole.trie.sizes == (*pruned.trie.sizes[:2], len(trigrams))
    assert pruned.trie.sizes[2] == sum(count > 1 for count in trigrams.values())


def test_small_vocabularies_fall_back_and_say_so() -> None:
    tags = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"]] * 30
    model = LanguageModel.from_tokens(Tokens.from_lists(tags), order=3)
    assert {s["rule"] for s in model.settings["smoothing"]} <= {"fixed", "kneser-ney"}
    assert np.isfinite(model.log10_probability(Tokens.from_lists([["V", "V", "N"], []]))).all()


def test_rare_words_are_unknown_words() -> None:
    texts = [["a", "b"], ["a", "b"], ["a", "c"], ["a", "d"]]
    model = LanguageModel.from_tokens(Tokens.from_lists(texts), order=2, minimum=2)
    same = model.log10_probability(Tokens.from_lists([["a", "c"], ["a", "never"]]))
    assert same[0] == same[1] and model.vocabulary.words[3:] == ("a", "b")


def test_end_can_be_left_out_and_empty_text_has_only_the_end() -> None:
    model = LanguageModel.from_tokens(Tokens.from_lists([["a", "b"], ["a"]]), order=2)
    texts = Tokens.from_lists([["a", "b"], []])
    scores = model.score(texts)
    np.testing.assert_allclose(model.log10_probability(texts), [scores.log10[:3].sum(), scores.log10[3]])
    np.testing.assert_allclose(model.log10_probability(texts, with_end=False), [scores.log10[:2].sum(), 0])
    assert scores.is_end.tolist() == [False, False, True, True]
    nothing = model.score(Tokens.from_lists([]))
    assert len(nothing.log10) == 0 and nothing.offsets.tolist() == [0]


word = st.sampled_from(["a", "b", "c", "d", "é", "<unk>", "</s>"])


@pytest.mark.slow
@settings(max_examples=40)
@given(
    corpus=st.lists(st.lists(word, min_size=1, max_size=6), min_size=1, max_size=10),
    batch=st.lists(st.lists(word, max_size=6), min_size=1, max_size=5),
    order=st.integers(1, 5),
)
def test_any_corpus_gives_finite_scores(corpus: list[list[str]], batch: list[list[str]], order: int) -> None:
    corpus.append(["a"])
    model = LanguageModel.from_tokens(Tokens.from_lists(corpus), order=order)
    together = model.log10_probability(Tokens.from_lists(batch))
    assert np.isfinite(together).all() and (together < 0).all()
    alone = [model.log10_probability(Tokens.from_lists([text]))[0] for text in batch]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def kenlm_model(path: Path) -> Any:
    return pytest.importorskip("kenlm").Model(str(path))


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
@pytest.mark.parametrize(("order", "prune"), [(2, False), (3, False), (5, True)])
def test_kenlm_reads_our_arpa_and_agrees(tmp_path: Path, name: str, order: int, prune: bool) -> None:
    texts, unseen = random_texts(8, 300, 200), [*random_texts(9, 60, 250), ["never", "é"], []]
    model = LanguageModel.from_tokens(Tokens.from_lists(texts), order=order, prune=prune)
    model.write_arpa(tmp_path / name)
    theirs = kenlm_model(tmp_path / name)
    scores = model.score(Tokens.from_lists(unseen))
    sums = model.log10_probability(Tokens.from_lists(unseen))
    np.testing.assert_allclose(sums, [theirs.score(" ".join(t)) for t in unseen], atol=1e-4)
    rows = [row for text in unseen for row in theirs.full_scores(" ".join(text))]
    np.testing.assert_allclose(scores.log10, [row[0] for row in rows], atol=1e-5)
    assert scores.matched.tolist() == [0 if unknown else length for _, length, unknown in rows]


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_kenlm_model_scores_as_the_one_it_was_written_from(tmp_path: Path, direction: Any) -> None:
    pytest.importorskip("kenlm")
    ours = LanguageModel.from_tokens(Tokens.from_lists(random_texts(10, 100)), order=3, direction=direction)
    ours.write_arpa(tmp_path / "model.arpa")
    theirs = LanguageModel.read_kenlm(tmp_path / "model.arpa", direction=direction)
    (tmp_path / "part").mkdir()
    theirs.save(tmp_path / "part")
    unseen = Tokens.from_lists([*random_texts(11, 20), ["never", "w1"], []])
    expected = ours.score(unseen)
    for model in (theirs, LanguageModel.load(tmp_path / "part")):
        scored = model.score(unseen)
        np.testing.assert_allclose(scored.log10, expected.log10, atol=1e-5)
        assert scored.matched.tolist() == expected.matched.tolist()
        assert scored.backoff.tolist() == expected.backoff.tolist()
        assert scored.offsets.tolist() == expected.offsets.tolist()
        assert model.fingerprint == theirs.fingerprint and model.order == 3
    refuses("cannot be listed", theirs.write_arpa, tmp_path / "again.arpa")


@pytest.mark.parametrize("order", [1, 2, 4])
def test_arpa_written_and_read_is_the_same_model(tmp_path: Path, order: int) -> None:
    texts, unseen = random_texts(12, 100), Tokens.from_lists([*random_texts(13, 30, 60), ["NA"], []])
    texts.append(["NA", "null", '"', "'", "#", "1e5"])  # what table readers take for something else
    model = LanguageModel.from_tokens(Tokens.from_lists(texts), order=order, case="true")
    model.write_arpa(tmp_path / "model.arpa.gz")
    read = LanguageModel.read_arpa(tmp_path / "model.arpa.gz", case="true")
    assert read.vocabulary.words == model.vocabulary.words and read.trie.sizes == model.trie.sizes
    np.testing.assert_allclose(read.log10_probability(unseen), model.log10_probability(unseen), atol=2e-5)


ARPA = """
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99 <s> -0.5
-0.5\t</s>
-0.7\ta\t-0.25

\\2-grams:
-0.1 <s> a
-0.2 a </s>

\\end\\
"""


def test_arpa_of_other_tools_with_blanks_and_missing_backoffs(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    path.write_text(ARPA)
    scores = LanguageModel.read_arpa(path).score(Tokens.from_lists([["a"], ["x", "a"]]))
    expected = [-0.1, -0.2, -1.0 - 0.5, -0.7, -0.2]
    np.testing.assert_allclose(scores.log10, expected, rtol=1e-6)


def test_words_with_white_space_cannot_be_written_as_arpa(tmp_path: Path) -> None:
    model = LanguageModel.from_tokens(Tokens.from_lists([["a b", "c"]]), order=2)
    refuses("white space", model.write_arpa, tmp_path / "model.arpa")
    assert not list(tmp_path.iterdir())


LINES = [
    ("the house is red", "la casa es roja"),
    ("the house is green", "la casa es verde"),
    ("the table is red", "la mesa es roja"),
    ("a house", "una casa"),
    ("a table", "una mesa"),
    ("the table is green", "la mesa es verde"),
] * 5


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(LINES)


@pytest.fixture(scope="module")
def aligner(corpus: ParallelCorpus) -> Aligner:
    return Aligner.build(corpus)


def test_units_of_links() -> None:
    source, target = Tokens.from_lists([["a", "B"], ["c"]]), Tokens.from_lists([["X", "y", "z"], []])
    parts = units(source, target, Links.from_pharaoh(["0-1 1-1 1-0", ""]))
    assert parts.words(0) == ["x|||b", "y|||a", "z|||<null>"]
    assert parts.words(1) == []


@pytest.mark.slow
def test_it_is_the_model_of_the_units(corpus: ParallelCorpus, aligner: Aligner, tmp_path: Path) -> None:
    built = TupleLM.build(corpus, aligner=aligner, order=3, minimum=1)
    links = aligner.align(corpus.source, corpus.target, "source-target")
    text = units(corpus.source, corpus.target, links)
    own = LanguageModel.from_tokens(text, order=3, case="true").score(text)
    scores = built.score(corpus.source, corpus.target, links)
    np.testing.assert_allclose(scores.log10, own.log10, rtol=1e-6)
    built.save(tmp_path)
    loaded = TupleLM.load(tmp_path)
    again = loaded.score(corpus.source, corpus.target, links)
    assert np.array_equal(again.log10, scores.log10) and loaded.fingerprint == built.fingerprint


def test_pruned_it_keeps_no_trigram_that_occurs_once(aligner: Aligner) -> None:
    once = ("the red table is a house", "la mesa roja es una casa")
    corpus = ParallelCorpus.from_lines([*LINES, once])
    whole = TupleLM.build(corpus, aligner=aligner, minimum=1)
    pruned = TupleLM.build(corpus, aligner=aligner, minimum=1, prune=True)
    links = aligner.align(corpus.source, corpus.target, "source-target")
    text = units(corpus.source, corpus.target, links)
    own = LanguageModel.from_tokens(text, order=3, case="true", prune=True).score(text)
    scores = pruned.score(corpus.source, corpus.target, links)
    np.testing.assert_allclose(scores.log10, own.log10, rtol=1e-6)
    assert pruned.settings["ngrams"][:2] == whole.settings["ngrams"][:2]
    assert 0 < pruned.settings["ngrams"][2] < whole.settings["ngrams"][2]


def test_links_must_fit(corpus: ParallelCorpus, aligner: Aligner) -> None:
    built = TupleLM.build(corpus, aligner=aligner)
    pair = Tokens.from_lists([["a"]]), Tokens.from_lists([["una"]])
    refuses("outside", built.score, *pair, Links.from_pharaoh(["0-1"]))
