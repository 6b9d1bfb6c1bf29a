"""Twenty or more punctuation marks behind the translation."""

import random

from qe.data.perturbation import Perturbation, Texts


class MarksAppended(Perturbation):
    """20 to 80 times the same mark, with or without blanks between."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        mark = draw.choice((".", "!", "?", ",", "-", " .", " !", " ?", " ,"))
        return texts.target[row] + mark * draw.randint(20, 80)
