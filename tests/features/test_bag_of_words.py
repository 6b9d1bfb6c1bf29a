"""Bags of words: against scikit-learn's tf-idf and ridge regression."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from features.bag_of_words import BagOfWords, BagRegression, characters, words
from features.core.segments import Segments
from features.text.tokens import Tokens
from qe.data.formats.mlqe_pe import MlqePe
from tests.factories import Find

RNG = np.random.default_rng(0)
TEXTS = [[f"w{k}" for k in RNG.integers(0, 30, size)] for size in RNG.integers(1, 12, 60)]
LABELS, WEIGHTS = RNG.normal(size=60), RNG.uniform(0.5, 1.5, 60)


def test_words_and_pairs_are_counted() -> None:
    bag = words(Tokens.from_lists([["A", "b", "a"], [], ["b", "A"]]))
    # 3 words and 4 pairs, the edge of the text being a neighbour; the empty text has the pair of its edges
    assert np.diff(bag.offsets).tolist() == [7, 1, 5]
    first, last = set(bag.ids[:7].tolist()), set(bag.ids[8:].tolist())
    assert len(first) == 6 and len(first & last) == 4  # a, b, `b a` and `a` at the end


@pytest.mark.parametrize("view", [words, characters])
def test_ridge_on_tf_idf_is_scikit_learns(view: Callable[[Tokens], object]) -> None:
    def analyse(text: list[str]) -> list[str]:
        if view is words:
            return [*text, *(f"{a} {b}" for a, b in zip(["", *text], [*text, ""], strict=True))]
        return [f" {t} "[i : i + k] for t in text for k in (2, 3, 4) for i in range(len(t) + 3 - k)]

    vectorizer = TfidfVectorizer(analyzer=analyse, min_df=2, sublinear_tf=True)
    rows = vectorizer.fit_transform(TEXTS)
    weights = WEIGHTS / WEIGHTS.mean()
    mean = np.average(LABELS, weights=weights)
    ridge = Ridge(alpha=3.0, fit_intercept=False).fit(rows, LABELS - mean, weights)
    bag = view(Tokens.from_lists(TEXTS))
    ours = BagRegression.fit(bag, LABELS, weights, penalty=3.0, minimum=2)  # type: ignore[arg-type]
    assert len(ours.keys) == len(vectorizer.vocabulary_)
    expected = ridge.predict(rows) + mean
    np.testing.assert_allclose(ours.predict(bag), expected, atol=1e-4)  # type: ignore[arg-type]


def test_unknown_words_leave_the_mean_and_no_words_nothing() -> None:
    batch = Segments(("a b", "b c", "a c"), ("x y", "y z", "x z"))
    fitted = BagOfWords(minimum=1).fit(batch, {"scores": np.array([1.0, 2.0, 6.0])})
    values = fitted.extract(Segments(("q", ""), ("q", "")))
    np.testing.assert_allclose(values[0, [0, 2]], 3)
    assert np.isnan(values[1]).all()


def test_romanian_words_tell_quality(shared_data: Find) -> None:
    """Fitted on half of the dev set, the other half's assessments follow the words alone."""
    split = MlqePe(pair="ro-en").read(shared_data("mlqe-pe")).split("dev")
    train, held_out = split.take(range(0, 1000, 2)), split.take(range(1, 1000, 2))
    assert held_out.scores is not None
    predicted = BagOfWords().fit(train.segments, train.labels()).extract(held_out.segments)
    assert min(np.corrcoef(column, held_out.scores)[0, 1] for column in predicted.T) > 0.2
