"""Unicode's decomposed form."""

import random
import unicodedata

from qe.data.perturbation import Perturbation, Texts


class UnicodeNfd(Perturbation):
    """Letters and their accents as separate characters (NFD); it looks the same."""

    effect = "harmless"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return unicodedata.normalize("NFD", texts.target[row])
