"""The flawed translator: correct target words in, its output and its errors out."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from qe.getting_started.demo.dice import Dice
from qe.getting_started.demo.grammar import FUNCTION_WORDS, Word

# Error kind -> how much it disturbs a post-editor (1: a content word must be found anew).
SEVERITY = {
    "wrong sense": 1.0,
    "untranslated": 1.1,
    "dropped": 0.8,
    "agreement": 0.45,
    "inserted": 0.4,
    "order": 0.5,
}
_AGREEING = ("noun", "verb", "adjective", "determiner")
_SWAPPED = {("noun", "adjective"), ("verb", "adverb")}  # target orders that the source has the other way
_UNREADABLE = 0.30  # sd of the logarithm of what makes a text hard and no feature sees
_TYPICAL_LENGTH = 18.0
_CEILING = 0.9  # of all error probabilities of one word


@dataclass(frozen=True, slots=True)
class Translation:
    """Output tokens and the kinds of the errors in them."""

    tokens: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def severity(self) -> float:
        """Sum of the errors' severities."""
        return sum(SEVERITY[kind] for kind in self.errors)


class Translator:
    """Makes errors whose probability grows with rarity, ambiguity and sentence length."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice

    def translate(self, words: Sequence[Word]) -> Translation:
        """What the translator makes of a sentence whose correct translation is `words`."""
        load = exp(_UNREADABLE * self.dice.normal()) * (len(words) / _TYPICAL_LENGTH) ** 0.25
        errors: list[str] = []
        output: list[tuple[str, str]] = []  # (surface, kind)
        for word in words:
            error = self._error(word, load)
            if error:
                errors.append(error)
            output += self._rendered(word, error)
            self._keep_source_order(output, errors, load)
        return Translation(tuple(surface for surface, _ in output), tuple(errors))

    def _error(self, word: Word, load: float) -> str:
        risks = word_risks(word)
        scale = min(load, _CEILING / max(sum(risks.values()), 1e-9))
        draw = self.dice.uniform()
        for kind, risk in risks.items():
            draw -= scale * risk
            if draw < 0:
                return kind
        return ""

    def _rendered(self, word: Word, error: str) -> list[tuple[str, str]]:
        right = (word.surface, word.kind)
        if error == "dropped":
            return []
        if error == "untranslated":
            return [(word.source, word.kind)]
        if error == "wrong sense":
            return [(self._other_sense(word), word.kind)]
        if error == "agreement":
            return [(self._other_form(word), word.kind)]
        if error == "inserted":
            return [(self.dice.pick(FUNCTION_WORDS), "function"), right]
        return [right]

    def _other_sense(self, word: Word) -> str:
        assert word.lemma is not None
        return self.dice.pick([s for s in word.lemma.senses if s is not word.sense]).forms[word.form]

    def _other_form(self, word: Word) -> str:
        forms = word.sense.forms if word.sense else word.options
        return self.dice.pick([form for form in forms if form != word.surface])

    def _keep_source_order(self, output: list[tuple[str, str]], errors: list[str], load: float) -> None:
        if len(output) < 2 or (output[-2][1], output[-1][1]) not in _SWAPPED:
            return
        if self.dice.chance(min(0.13 * load, _CEILING)):
            output[-2:] = output[:-3:-1]
            errors.append("order")


def word_risks(word: Word) -> dict[str, float]:
    """Error kind -> its probability at this word in a sentence of typical length.

    Rare words are left untranslated, ambiguous ones get the wrong sense (twice as often where the right
    one is not the dominant one), and whatever is rare is inflected wrongly or dropped more often.
    """
    if word.kind in ("mark", "number", "name"):
        return {"dropped": 0.003}
    if word.lemma is None or word.sense is None:
        risks = {"dropped": 0.015, "inserted": 0.01}
        return {**risks, "agreement": 0.04} if word.options else risks
    rarity = word.lemma.rarity
    unusual = 2.0 if word.sense is not word.lemma.senses[0] else 1.0
    risks = {
        "wrong sense": unusual * word.lemma.ambiguity * (0.04 + 0.06 * rarity),
        "untranslated": 0.9 * max(rarity - 0.6, 0.0),
        "dropped": 0.005 + 0.04 * rarity**2,
        "inserted": 0.004 + 0.02 * rarity**2,
    }
    if word.kind in _AGREEING:
        risks["agreement"] = 0.02 + 0.08 * rarity**2
    return risks
