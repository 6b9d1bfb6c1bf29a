"""All letters in upper case."""

import random

from qe.data.perturbation import Perturbation, Texts


class UpperCase(Perturbation):
    """The whole translation in capitals."""

    effect = "reported"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.target[row].upper()
