"""Source and translation exchanged."""

import random

from qe.data.perturbation import Perturbation, Texts


class Swapped(Perturbation):
    """Source in the place of the translation, and the translation in the place of the source."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.source[row]

    def source(self, texts: Texts, row: int) -> str:
        return texts.target[row]
