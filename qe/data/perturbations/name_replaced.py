"""One name replaced by another."""

import random

import regex

from qe.data.perturbation import Perturbation, Texts

_NAME = regex.compile(r"(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}'’-]+")
_NAMES = ("Margaret", "Tokio", "Hoffmann", "Lagos", "Nakamura", "Oslo", "Fernández", "Quebec")
_NOUNS = ("de", "lb")  # languages that write every noun with a capital


class NameReplaced(Perturbation):
    """One capitalised word within the sentence becomes another name.

    German stays as it is, because all its nouns are capitalised.
    """

    effect = "wrong in one place"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        found = [] if texts.target_language in _NOUNS else list(_NAME.finditer(text))
        if not found:
            return None
        match = draw.choice(found)
        name = draw.choice([name for name in _NAMES if name != match.group()])
        return text[: match.start()] + name + text[match.end() :]
