"""Text decoded by the wrong encoding."""

import random

from qe.data.perturbation import Perturbation, Texts

_PAIRS = (("utf-8", "cp1252"), ("utf-8", "cp1251"), ("utf-8", "cp437"), ("utf-16-le", "cp1252"))


class Mojibake(Perturbation):
    """UTF-8 or UTF-16 read as a one-byte encoding: `aÃ±o` for `año`.

    Pure ASCII is the same in UTF-8, so that only UTF-16 changes it.
    """

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        pairs = [_PAIRS[-1]] if text.isascii() else _PAIRS
        right, wrong = draw.choice(pairs)
        broken = text.encode(right, "surrogatepass").decode(wrong, "replace")
        return broken.replace("\x00", "\N{REPLACEMENT CHARACTER}")
