"""A blank behind the translation."""

import random

from qe.data.perturbation import Perturbation, Texts


class TrailingBlank(Perturbation):
    """One blank more at the end."""

    effect = "harmless"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.target[row] + " "
