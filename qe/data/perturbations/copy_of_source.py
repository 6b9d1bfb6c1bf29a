"""The source in place of the translation."""

import random

from qe.data.perturbation import Perturbation, Texts


class CopyOfSource(Perturbation):
    """What a system returns that translated nothing."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.source[row]
