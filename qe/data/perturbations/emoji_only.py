"""Emoji in place of every word."""

import random

from qe.data.perturbation import Perturbation, Texts, words

_EMOJI = "👍😀🎉❤🙂🔥😂🙏"


class EmojiOnly(Perturbation):
    """One emoji for each word of the translation; half of the rows repeat one throughout."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        known = draw.choice(_EMOJI) if draw.random() < 0.5 else _EMOJI
        return "".join(draw.choice(known) for _ in words(texts.target[row]))
