"""Numbers in place of every word."""

import random

from qe.data.perturbation import Perturbation, Texts, words


class DigitsOnly(Perturbation):
    """One number of up to four digits for each word of the translation."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join(str(draw.randrange(10_000)) for _ in words(texts.target[row]))
