"""The last five words repeated ten times."""

import random

from qe.data.perturbation import Perturbation, Texts, joined, words


class TailRepeated(Perturbation):
    """A decoder that loops: the last five words come ten times more."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        return joined(units + units[-5:] * 10, texts.target[row])
