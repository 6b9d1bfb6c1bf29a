"""The bilingual lexicon: invented lemmas on both sides, their senses, forms and frequencies."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import log10

from qe.getting_started.demo.dice import Dice

TOPICS = 8

# Sounds. The two sides share few letters, so that an untranslated word is plain to see.
# Per side: onsets, vowels, and what may close a word's last syllable.
_SOURCE_SOUNDS = (
    ("b", "d", "k", "l", "m", "n", "r", "v", "z", "zh", "kv", "dr", "gl", "vl", "zd", "br"),
    ("a", "e", "o", "ø", "ai", "ey"),
    ("", "n", "r", "l", "m", "rk", "nd"),
)
_TARGET_SOUNDS = (
    ("t", "s", "f", "h", "ch", "j", "l", "m", "n", "r", "tl", "y", "qu", "w"),
    ("a", "i", "u", "ê", "ia"),
    ("t", "l", "n", "s", "r", "m"),
)

# Endings of the target language, by form. Nouns and whatever agrees with them rhyme.
_NOUN_ENDINGS = (("u", "uis"), ("ê", "ênes"))  # gender -> (singular, plural)
AGREEING_ENDINGS = ("u", "uis", "ê", "ênes")  # 2 * gender + number
_TENSES = ("", "if", "ach")  # present, past, future
_PERSONS = ("u", "am", "is", "at", "i", "an")  # 2 * person + number

# Endings of the source language, by form.
_NOUN_FORMS = ("", "or")  # singular, plural
_VERB_FORMS = ("", "eth", "ode")  # base, third person singular present, past

# Zipf-Mandelbrot exponents of word frequency: small ones write with many rare words, large ones plainly.
REGISTERS = (0.55, 0.80, 1.05, 1.25, 1.50)
_SHIFT = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Sense:
    """One translation of a lemma: its gender (nouns; 0 elsewhere) and its surface per form."""

    gender: int
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lemma:
    """A source lemma.

    forms     source surfaces
    senses    translations; the first is the dominant one
    by_topic  (TOPICS,) which sense is right in a text on that topic
    rarity    0 (the most frequent of its word class) to 1 (the rarest), logarithmic in frequency
    """

    forms: tuple[str, ...]
    senses: tuple[Sense, ...]
    by_topic: tuple[int, ...]
    rarity: float

    @property
    def ambiguity(self) -> int:
        """How many senses compete with the right one."""
        return len(self.senses) - 1


@dataclass(frozen=True, eq=False)
class WordClass:
    """The lemmas of one part of speech, by falling frequency."""

    lemmas: tuple[Lemma, ...]

    @cached_property
    def cumulative(self) -> tuple[tuple[float, ...], ...]:
        """Cumulative probabilities of the lemmas, per register."""
        return tuple(_zipf(len(self.lemmas), exponent) for exponent in REGISTERS)

    def draw(self, dice: Dice, register: int, topic: int | None = None) -> Lemma:
        """A lemma by frequency; with a topic, its neighbour in rank that belongs to the topic."""
        rank = dice.from_cumulative(self.cumulative[register])
        if topic is not None:
            rank = min(rank - rank % TOPICS + topic, len(self.lemmas) - 1)
        return self.lemmas[rank]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All open word classes, and prepositions, whose translation also depends on the topic."""

    nouns: WordClass
    verbs: WordClass
    adjectives: WordClass
    adverbs: WordClass
    names: WordClass
    prepositions: WordClass

    def __len__(self) -> int:
        classes = (self.nouns, self.verbs, self.adjectives, self.adverbs, self.names, self.prepositions)
        return sum(len(c.lemmas) for c in classes)


def make_lexicon(dice: Dice, reserved: Iterable[str] = ()) -> Lexicon:
    """2,392 source lemmas with their translations; none is a `reserved` word."""
    coin = _Coiner(dice, reserved)
    return Lexicon(
        nouns=_word_class(coin, 1100, _NOUN_FORMS, _noun_sense),
        verbs=_word_class(coin, 500, _VERB_FORMS, _verb_sense),
        adjectives=_word_class(coin, 500, ("",), _adjective_sense),
        adverbs=_word_class(coin, 130, ("",), _adverb_sense),
        names=WordClass(tuple(_name(coin, rank, 150) for rank in range(150))),
        prepositions=_word_class(coin, 12, ("",), _preposition_sense),
    )


class _Coiner:
    def __init__(self, dice: Dice, reserved: Iterable[str]) -> None:
        self.dice = dice
        self._used = set(reserved)

    def source(self, syllables: int) -> str:
        return self._coin(_SOURCE_SOUNDS, syllables)

    def target(self, syllables: int) -> str:
        return self._coin(_TARGET_SOUNDS, syllables)

    def _coin(self, sounds: tuple[tuple[str, ...], ...], syllables: int) -> str:
        onsets, vowels, codas = sounds
        dice = self.dice
        while True:
            stem = "".join([dice.pick(onsets) + dice.pick(vowels) for _ in range(syllables)])
            word = stem + dice.pick(codas)
            if word not in self._used:
                self._used.add(word)
                return word
            syllables += dice.chance(0.1)  # the short words run out


_MakeSense = Callable[[_Coiner], Sense]


def _word_class(coin: _Coiner, n: int, endings: tuple[str, ...], sense: _MakeSense) -> WordClass:
    return WordClass(tuple(_lemma(coin, rank, n, endings, sense) for rank in range(n)))


def _lemma(coin: _Coiner, rank: int, n: int, endings: tuple[str, ...], sense: _MakeSense) -> Lemma:
    dice = coin.dice
    stem = coin.source(_syllables(dice, rank))
    count = (1, 2, 3)[dice.from_cumulative((0.5, 0.85, 1.0))]
    senses = tuple(sense(coin) for _ in range(count))
    # The first sense is right on most topics.
    by_topic = tuple(0 if dice.chance(0.55) else dice.below(count) for _ in range(TOPICS))
    return Lemma(tuple(stem + ending for ending in endings), senses, by_topic, _rarity(rank, n))


def _name(coin: _Coiner, rank: int, n: int) -> Lemma:
    name = coin.source(2).capitalize()
    return Lemma((name,), (Sense(0, (name,)),), (0,) * TOPICS, _rarity(rank, n))


def _noun_sense(coin: _Coiner) -> Sense:
    stem, gender = coin.target(1 + coin.dice.chance(0.75)), coin.dice.below(2)
    return Sense(gender, tuple(stem + ending for ending in _NOUN_ENDINGS[gender]))


def _adjective_sense(coin: _Coiner) -> Sense:
    stem = coin.target(1 + coin.dice.chance(0.6))
    return Sense(0, tuple(stem + ending for ending in AGREEING_ENDINGS))


def _verb_sense(coin: _Coiner) -> Sense:
    stem = coin.target(1 + coin.dice.chance(0.5))
    return Sense(0, tuple(stem + tense + person for tense in _TENSES for person in _PERSONS))


def _adverb_sense(coin: _Coiner) -> Sense:
    return Sense(0, (coin.target(1) + "iche",))


def _preposition_sense(coin: _Coiner) -> Sense:
    return Sense(0, (coin.target(1) + "w",))


def _syllables(dice: Dice, rank: int) -> int:
    return 1 + (rank > 40) + dice.chance(0.35) + (rank > 400 and dice.chance(0.4))


def _rarity(rank: int, n: int) -> float:
    return log10((rank + 1 + _SHIFT) / (1 + _SHIFT)) / log10((n + _SHIFT) / (1 + _SHIFT))


def _zipf(n: int, exponent: float) -> tuple[float, ...]:
    weights = [(rank + 1 + _SHIFT) ** -exponent for rank in range(n)]
    total = sum(weights)
    return tuple(accumulate(weight / total for weight in weights))
