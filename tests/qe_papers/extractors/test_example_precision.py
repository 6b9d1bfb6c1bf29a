"""Best and worst examples: rankings by sacrebleu, precisions by hand."""

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from features.core.segments import Segments
from qe_papers.extractors.corpus_matches import ExamplePrecision, ranked
from tests.factories import PLAIN

ROWS = [
    ("s1 a b", "the cat sat on the mat", "the cat sat on the mat"),
    ("s2 c d", "dogs bark loudly today", "a dog barked very loudly"),
    ("s3 e f", "the house is red and big", "the house is very red and big"),
    ("s4 g h", "no one word fits", "q w e r"),
    ("s5 i j", "he comes", "he comes from a far away land"),
]


def segments(*pairs: tuple[str, str]) -> Segments:
    columns = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    return Segments.from_columns(columns, PLAIN, PLAIN)


def fitted(rows: list[tuple[str, str, str]] = ROWS) -> ExamplePrecision:
    training = segments(*((source, target) for source, target, _ in rows))
    return ExamplePrecision().fit(training, {"reference": [reference for _, _, reference in rows]})


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
    row = dict(
        zip(fitted().features, fitted().extract(segments(("s1 a z", "the red cat")))[0].tolist(), strict=True)
    )
    values = {feature.name: value for feature, value in row.items()}
    # s1 a z: 2 of 3 words, one of two bigrams, no trigram, each but the first with one added.
    assert values["example_precision_source_best"] == pytest.approx((2 / 3 * 2 / 3 * 1 / 2) ** (1 / 3))
    assert values["example_precision_source_worst"] == 0
    # the red cat: all three words of the references, no bigram.
    assert values["example_precision_target_best"] == pytest.approx((1 * 1 / 3 * 1 / 2) ** (1 / 3))
    assert values["example_precision_target_worst"] == 0


def test_targets_are_compared_with_references_not_with_translations() -> None:
    values = fitted().extract(segments(("x", "very"), ("x", "today")))
    assert values[0, 2] == 1  # of the best: `very red`
    assert values[1].tolist() == [0, 0, 0, 0]  # `today` is of a translation alone
