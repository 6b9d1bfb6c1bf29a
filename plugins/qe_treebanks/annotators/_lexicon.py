"""Lexicon: possible tags of a word and their probabilities, by word class for unknown words."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qe_treebanks.annotators._grammar import UP

_RARE: Final = 3  # maximum count of words that represent unknown words
_CLASS_WEIGHT: Final = 1.0  # weight of a word's class, in uses
_SHARE_WEIGHT: Final = 4.0  # weight of a tag's parent, in uses
_BACKOFF: Final = 2.0  # weight of a shorter suffix, in uses
_SURE: Final = 20  # a word with more uses has only its observed tags
_LEAST: Final = 0.003  # minimum probability of a tag, relative to the word's best


class Lexicon:
    """Emissions of the symbols of tags, from the uses of (symbol, word).

    P(tag | word) is the word's relative frequency, smoothed with that of its class: capitals, digits, hyphens
    and the last letters, learned from rare words. Bayes' rule converts it to P(word | tag).
    """

    def __init__(self, words: Mapping[tuple[str, str], float]) -> None:
        self._uses = dict(words)
        self._word: Counter[str] = Counter()
        self._tag: Counter[str] = Counter()
        self._symbol: Counter[str] = Counter()
        self._of_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
        symbols: defaultdict[str, set[str]] = defaultdict(set)
        for (symbol, word), uses in words.items():
            tag = symbol.split(UP, 1)[0]
            self._word[word] += uses  # type: ignore[assignment]
            self._tag[tag] += uses  # type: ignore[assignment]
            self._symbol[symbol] += uses  # type: ignore[assignment]
            self._of_word[word][tag] += uses  # type: ignore[assignment]
            symbols[tag].add(symbol)
        self._symbols = {tag: sorted(symbols_of) for tag, symbols_of in symbols.items()}
        self._total = sum(self._word.values())
        self._tags = sorted(self._tag)
        self._place = {tag: i for i, tag in enumerate(self._tags)}
        self._usual = self._column(self._tag) / self._total
        self._known: dict[tuple[int, str], NDArray[np.float64]] = {}
        self._classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word, tags in self._of_word.items():
            if self._word[word] <= _RARE:
                for name in classes(word):
                    self._classes[name].update(tags)

    def tags(self, word: str) -> list[tuple[str, float]]:
        """(symbol, log P(word | symbol)) of the word's possible tags."""
        if word not in self._of_word and word.lower() in self._of_word:
            word = word.lower()
        return self._emissions(word)

    def key(self, word: str) -> tuple[str, ...]:
        if word in self._of_word:
            return (word,)
        return (word.lower(),) if word.lower() in self._of_word else classes(word)

    def _emissions(self, word: str) -> list[tuple[str, float]]:
        of_tags, uses, emissions = self._of_tags(word), self._word[word], []
        share = log(max(uses, 0.5) / self._total)
        for place in np.flatnonzero(of_tags >= _LEAST * of_tags.max()).tolist():
            tag, probability = self._tags[place], float(of_tags[place])
            of_tag = self._of_word[word][tag] if word in self._of_word else 0.0
            for symbol in self._symbols[tag]:
                usual = self._symbol[symbol] / self._tag[tag]
                seen = self._uses.get((symbol, word), 0.0)
                inner = (seen + _SHARE_WEIGHT * usual) / (of_tag + _SHARE_WEIGHT)
                emissions.append(
                    (symbol, log(probability * inner) + share - log(self._symbol[symbol] / self._total))
                )
        return emissions

    def _of_tags(self, word: str) -> NDArray[np.float64]:
        uses, seen = self._word[word], self._column(self._of_word.get(word, {}))
        if uses >= _SURE:
            return seen / uses
        return (seen + _CLASS_WEIGHT * self._of_class(word)) / (uses + _CLASS_WEIGHT)

    def _of_class(self, word: str) -> NDArray[np.float64]:
        result = self._usual
        for key in enumerate(classes(word)):
            if key not in self._known:
                seen = self._classes.get(key[1])
                if seen is None:
                    break
                self._known[key] = (self._column(seen) + _BACKOFF * result) / (seen.total() + _BACKOFF)
            result = self._known[key]
        return result

    def _column(self, counts: Mapping[str, float]) -> NDArray[np.float64]:
        result = np.zeros(len(self._tags))
        for tag, n in counts.items():
            result[self._place[tag]] = n
        return result


def classes(word: str) -> tuple[str, ...]:
    """Word classes from capitals, digits, hyphens and last letters, from coarse to fine.

    >>> classes("Xi-22")
    ('', 'Ad-a', 'Ad-a 2', 'Ad-a 22', 'Ad-a -22', 'Ad-a i-22')
    """
    lower = word.lower()
    look = ("A" if word[:1].isupper() else "a") + ("U" if word.isupper() and len(word) > 1 else "")
    look += (
        "".join(sign for sign, there in (("d", any(map(str.isdigit, word))), ("-", "-" in word)) if there)
        + ("_" if "_" in word else "")
        + ("a" if any(map(str.isalpha, word)) else "")
    )
    return ("", look, *(f"{look} {lower[-k:]}" for k in range(1, 5)))
