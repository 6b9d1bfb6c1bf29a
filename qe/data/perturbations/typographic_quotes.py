"""Typographic quotation marks and apostrophes."""

import random

import regex

from qe.data.perturbation import Perturbation, Texts


class TypographicQuotes(Perturbation):
    """Straight quotes and apostrophes become “these” and ’; the meaning stays."""

    effect = "harmless"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        opened: str = regex.sub(r'(?<!\S)"', "“", texts.target[row])
        return opened.replace('"', "”").replace("'", "’")
