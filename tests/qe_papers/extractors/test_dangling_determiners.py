"""Determiners with and without a noun."""

import numpy as np

from qe_papers.extractors.grammar import DanglingDeterminers
from tests.factories import row
from tests.features.parsed import translations


def dangling(text: str) -> tuple[float, float]:
    values = row(DanglingDeterminers(), translations(text))
    return values["determiners_dangling_target"], values["determiners_dangling_share_target"]


def test_by_hand() -> None:
    text = "la/DET/_/2/det casa/NOUN/_/4/nsubj el/DET/_/4/det duerme/VERB/VerbForm=Fin/0/root"
    assert dangling(text) == (1, 0.5)
    assert dangling("el/DET/_/2/det hacer/VERB/VerbForm=Inf/0/root") == (0, 0)
    assert dangling("el/DET/_/0/root") == (1, 1)
    count, share = dangling("duerme/VERB/VerbForm=Fin/0/root")
    assert count == 0 and np.isnan(share)
