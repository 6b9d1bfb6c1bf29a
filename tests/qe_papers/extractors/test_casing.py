"""Features of case, by hand."""

import numpy as np

from features.core.segments import Segments
from features.text.tokens import Tokens
from qe_papers.extractors.word_classes import Casing
from qe_papers.resources.truecaser import Truecaser
from tests.factories import PLAIN

TEXT = Tokens.from_lists(
    line.split()
    for line in ("The red house of Ann .", "Ann said : The house is red !", "It rained in the EU")
)


def test_features_by_hand() -> None:
    caser = Truecaser.from_tokens(TEXT)
    segments = Segments(("The House of ann", ""), ("red Ann EU", "The red"), PLAIN, PLAIN)
    features = Casing(caser, caser).extract(segments)
    np.testing.assert_array_equal(features[0], [2, 0.5, 1, 0, 0, 2, 1])
    np.testing.assert_array_equal(features[1], [0, np.nan, 0, 0, 0, 0, 0])
