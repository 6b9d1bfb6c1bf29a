"""Similarity with the corpus: equal to the definitions worked out n-gram by n-gram."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.basics.errors import InputError
from features.core.segments import Segments
from features.text.tokens import Tokens
from qe_papers.extractors.similarity import WEIGHTINGS, Similarity
from qe_papers.resources.ngram_documents import K1, K3, B, NgramDocuments
from tests.factories import PLAIN, refuses

CORPUS = [line.split() for line in ("a b c d", "a b a b", "c d e", "a", "b c d e f")]
PENALTY = 0.5
Ngram = tuple[str, ...]


def extractor(**parameters: Any) -> Similarity:
    documents = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
    return Similarity(documents, documents, matching_orders=(2, 4), weightings=WEIGHTINGS, **parameters)


def values(text: Sequence[str], **parameters: Any) -> dict[str, float]:
    outcome = extractor(**parameters)
    row = outcome.extract(Segments(("x",), (" ".join(text),), PLAIN, PLAIN))[0]
    return {
        name.removeprefix("similarity_target_"): value
        for name, value in zip(outcome.names, row, strict=True)
        if name.startswith("similarity_target_")
    }


def ngrams(words: Sequence[str], order: int, boundaries: bool) -> list[Ngram]:
    """With boundaries: those with a word in them, of the text between order - 1 marks at each end."""
    marks = order - 1 if boundaries else 0
    padded = ["<"] * marks + list(words) + [">"] * marks
    return [tuple(padded[i : i + order]) for i in range(len(padded) - order + 1)]


def occurrences(ngram: Ngram) -> list[int]:
    """How often the n-gram is in each text of the corpus, between enough marks."""
    padded = [["<"] * 3 + words + [">"] * 3 for words in CORPUS]
    n = len(ngram)
    return [sum(tuple(p[i : i + n]) == ngram for i in range(len(p) - n + 1)) for p in padded]


def idf(ngram: Ngram) -> float:
    n = sum(count > 0 for count in occurrences(ngram))
    return float(np.log(1 + (len(CORPUS) - n + 0.5) / (n + 0.5)))


def okapi(words: Sequence[str], order: int, boundaries: bool, within: str = "corpus") -> float:
    length = len(words) / np.mean([len(w) for w in CORPUS])
    counts = Counter(ngrams(words, order, boundaries))
    document = {
        g: idf(g) * (f if sum(occurrences(g)) else 1) * (K1 + 1)
        / ((f if sum(occurrences(g)) else 1) + K1 * (1 - B + B * length))
        for g, f in counts.items()
    }  # fmt: skip
    squares = [w**2 * (1 if sum(occurrences(g)) else counts[g]) for g, w in document.items()]
    known = set(chain.from_iterable(ngrams(["<"] * 3 + w + [">"] * 3, order, False) for w in CORPUS))
    if not boundaries:
        known = {g for g in known if not {"<", ">"} & set(g)}

    def request(g: Ngram) -> float:
        f = sum(occurrences(g))
        return idf(g) * (K3 + 1) * f / (K3 + f)

    product = sum(w * request(g) for g, w in document.items() if sum(occurrences(g)))
    if within == "segment":
        known &= set(document)
    norm = float(np.linalg.norm([request(g) for g in known]))
    return float(product / np.sqrt(sum(squares)) / norm) if norm else 0.0


def matching(words: Sequence[str], longest: int, boundaries: bool, weighting: str) -> float:
    order = longest if boundaries else min(longest, len(words))

    def weight(g: Ngram) -> tuple[float, float]:
        """What it scores if found, and its share in the mean."""
        f = sum(occurrences(g))
        return {
            "one": (1.0, 1.0),
            "frequency": (f, 1.0),
            "log_frequency": (np.log10(1 + f), 1.0),
            "inverse_frequency": (1 / max(f, 1),) * 2,
            "idf": (idf(g),) * 2,
        }[weighting]

    def value(g: Ngram) -> float:
        if sum(occurrences(g)):
            return weight(g)[0]
        return PENALTY * (value(g[:-1]) + value(g[1:])) / 2 if len(g) > 1 else 0.0

    chosen = ngrams(words, order, boundaries)
    return sum(map(value, chosen)) / sum(weight(g)[1] for g in chosen)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.sampled_from("abcdefx"), min_size=1, max_size=7))
def test_equal_to_the_definitions(words: list[str]) -> None:
    features = values(words)
    for boundaries in (False, True):
        mark = "_boundary" if boundaries else ""
        for order in range(1 + boundaries, 5):
            if boundaries or len(words) >= order:
                assert features[f"okapi_{order}{mark}"] == pytest.approx(
                    okapi(words, order, boundaries), rel=1e-9
                )
            else:
                assert np.isnan(features[f"okapi_{order}"])
        for order in (2, 4):
            for weighting in WEIGHTINGS:
                name = f"matching_{order}{mark}" + ("" if weighting == "one" else f"_{weighting}")
                expected = matching(words, order, boundaries, weighting)
                assert features[name] == pytest.approx(expected, rel=1e-9), name


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.sampled_from("abcdefx"), min_size=1, max_size=7))
def test_equal_to_the_definition_in_the_space_of_the_segment(words: list[str]) -> None:
    features = values(words, okapi_within="segment")
    for boundaries in (False, True):
        mark = "_boundary" if boundaries else ""
        for order in range(1 + boundaries, 5):
            if boundaries or len(words) >= order:
                expected = okapi(words, order, boundaries, "segment")
                assert features[f"okapi_segment_{order}{mark}"] == pytest.approx(expected, rel=1e-9)
                assert 0 <= expected <= 1 + 1e-9
            else:
                assert np.isnan(features[f"okapi_segment_{order}"])
    assert not any(name.startswith("okapi_1") for name in features)


def test_what_counts_occurrences_is_no_share() -> None:
    units = {f.name.removeprefix("similarity_target_"): f.unit for f in extractor().features}
    features = values(["a", "b"])
    assert features["matching_2_frequency"] == 3 and units["matching_2_frequency"] == "occurrences"
    assert features["matching_2_log_frequency"] == pytest.approx(np.log10(1 + 3))
    assert units["matching_2_log_frequency"] == "log10 occurrences"
    assert all(0 <= value <= 1 for name, value in features.items() if units[name] == "share")


def test_wrong_parameters() -> None:
    refuses("order 5 were not counted", extractor, okapi_orders=(5,))
    documents = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
    with pytest.raises(InputError, match="unknown weighting 'log'; known: one, frequency"):
        Similarity(documents, documents, matching_orders=(4,), weightings=("log",))
    true = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4, case="true")
    names = Similarity(true, documents, matching_orders=(4,)).names
    assert names[0] == "similarity_source_true_case_okapi_1" and "similarity_target_okapi_1" in names
