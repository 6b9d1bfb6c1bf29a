"""What is asked of every MT metric."""

import numpy as np
import pytest

from qe.systems.text_metric import MT_METRICS
from qe.systems.texts import Texts

HYPOTHESES = ["the house is red", "a cat", "", "he reads a book today"]
REFERENCES = [
    ["the house is red", "the cat", "nothing", "he reads a book"],
    ["a red house", "cats", "no", "he reads"],
]
TEXT_METRICS = [name for name in MT_METRICS.names if name != "table"]  # `table` reads scores from a file


@pytest.mark.parametrize("name", TEXT_METRICS)
def test_statistics_of_segments_add_up_to_the_score(name: str) -> None:
    metric = MT_METRICS.get(name)()
    references = [Texts.from_lines(column) for column in REFERENCES]
    statistics = metric.statistics(Texts.from_lines(HYPOTHESES), references)
    assert statistics.shape[0] == len(HYPOTHESES) and statistics.dtype == np.float64
    assert np.isfinite(statistics).all()
    assert metric.__doc__ and metric.higher_is_better in (True, False, None)
    whole = float(metric.aggregate(statistics.sum(axis=0)))
    assert metric.score(HYPOTHESES, REFERENCES) == pytest.approx(whole)


@pytest.mark.parametrize("name", TEXT_METRICS)
def test_permuted_segments_have_permuted_statistics(name: str) -> None:
    """NIST weighs n-grams by all references, so that a segment alone may have other statistics."""
    metric = MT_METRICS.get(name)()
    order = [2, 0, 3, 1]
    plain = metric.statistics(
        Texts.from_lines(HYPOTHESES), [Texts.from_lines(column) for column in REFERENCES]
    )
    permuted = metric.statistics(
        Texts.from_lines([HYPOTHESES[i] for i in order]),
        [Texts.from_lines([column[i] for i in order]) for column in REFERENCES],
    )
    np.testing.assert_allclose(permuted, plain[order], rtol=1e-12)
