"""The translation written three times."""

import random

from qe.data.perturbation import Perturbation, Texts


class ThreeTimes(Perturbation):
    """The whole translation, repeated twice behind itself."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join([texts.target[row]] * 3)
