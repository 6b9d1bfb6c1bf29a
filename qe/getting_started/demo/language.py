"""The demo's two languages: lexicon and grammar, sentences in both at once."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, repeat
from math import log10
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_BLOCK = 8192


class Dice:
    """Draws one number at a time from blocks of uniform numbers, whose stream numpy keeps stable."""

    def __init__(self, seed: np.random.SeedSequence) -> None:
        generator = np.random.Generator(np.random.PCG64(seed))
        blocks: Iterator[list[float]] = (generator.random(_BLOCK).tolist() for _ in repeat(None))
        self._numbers = chain.from_iterable(blocks)

    def uniform(self) -> float:
        return next(self._numbers)

    def chance(self, probability: float) -> bool:
        return next(self._numbers) < probability

    def below(self, n: int) -> int:
        return int(next(self._numbers) * n)

    def pick(self, options: Sequence[T]) -> T:
        return options[int(next(self._numbers) * len(options))]

    def from_cumulative(self, cumulative: Sequence[float]) -> int:
        """An index drawn from cumulative probabilities that end at 1."""
        return min(bisect_right(cumulative, next(self._numbers)), len(cumulative) - 1)

    def normal(self) -> float:
        """A standard normal number, as the sum of 12 uniform ones minus 6 (tails end at 6)."""
        numbers = self._numbers
        return sum([next(numbers) for _ in range(12)]) - 6.0


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
# 6 * tense + 2 * person + number
_VERB_ENDINGS = tuple(
    tense + person for tense in ("", "if", "ach") for person in ("u", "am", "is", "at", "i", "an")
)

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

    senses    translations; the first is the dominant one
    by_topic  (TOPICS,) which sense is right in a text on that topic
    rarity    0 (the most frequent of its word class) to 1 (the rarest), logarithmic in frequency
    """

    forms: tuple[str, ...]
    senses: tuple[Sense, ...]
    by_topic: tuple[int, ...]
    rarity: float


@dataclass(frozen=True, eq=False)
class WordClass:
    lemmas: tuple[Lemma, ...]

    @cached_property
    def cumulative(self) -> list[list[float]]:
        """For each register, the cumulative probabilities of the lemmas."""
        registers = []
        for exponent in REGISTERS:
            weights = [(rank + 1 + _SHIFT) ** -exponent for rank in range(len(self.lemmas))]
            total = sum(weights)
            registers.append(list(accumulate(weight / total for weight in weights)))
        return registers

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
        return sum(len(words.lemmas) for words in vars(self).values())


def make_lexicon(dice: Dice, reserved: Iterable[str] = ()) -> Lexicon:
    """2,392 source lemmas with their translations; none is a `reserved` word."""
    coin = _Coiner(dice, reserved)
    return Lexicon(
        nouns=coin.word_class(1100, _NOUN_FORMS, _NOUN_ENDINGS, 0.75),
        verbs=coin.word_class(500, _VERB_FORMS, (_VERB_ENDINGS,), 0.5),
        adjectives=coin.word_class(500, ("",), (AGREEING_ENDINGS,), 0.6),
        adverbs=coin.word_class(130, ("",), (("iche",),)),
        names=coin.names(150),
        prepositions=coin.word_class(12, ("",), (("w",),)),
    )


class _Coiner:
    def __init__(self, dice: Dice, reserved: Iterable[str]) -> None:
        self.dice = dice
        self._used = set(reserved)

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

    def word_class(
        self, size: int, endings: Sequence[str], sense_endings: Sequence[Sequence[str]], longer: float = 0.0
    ) -> WordClass:
        """Lemmas with the endings of their forms, and those of their translations by gender.

        `longer` is the probability that a translation has two syllables.
        """
        dice, lemmas = self.dice, []
        for rank in range(size):
            syllables = 1 + (rank > 40) + dice.chance(0.35) + (rank > 400 and dice.chance(0.4))
            stem = self._coin(_SOURCE_SOUNDS, syllables)
            count = 1 + dice.from_cumulative((0.5, 0.85, 1.0))
            senses = []
            for _ in range(count):
                root = self._coin(_TARGET_SOUNDS, 1 + (longer > 0 and dice.chance(longer)))
                gender = dice.below(len(sense_endings)) if len(sense_endings) > 1 else 0
                senses.append(Sense(gender, tuple(root + ending for ending in sense_endings[gender])))
            # The first sense is right on most topics.
            by_topic = tuple(0 if dice.chance(0.55) else dice.below(count) for _ in range(TOPICS))
            forms = tuple(stem + ending for ending in endings)
            lemmas.append(Lemma(forms, tuple(senses), by_topic, _rarity(rank, size)))
        return WordClass(tuple(lemmas))

    def names(self, size: int) -> WordClass:
        lemmas = []
        for rank in range(size):
            forms = (self._coin(_SOURCE_SOUNDS, 2).capitalize(),)
            lemmas.append(Lemma(forms, (Sense(0, forms),), (0,) * TOPICS, _rarity(rank, size)))
        return WordClass(tuple(lemmas))


def _rarity(rank: int, size: int) -> float:
    return log10((rank + 1 + _SHIFT) / (1 + _SHIFT)) / log10((size + _SHIFT) / (1 + _SHIFT))


PRESENT, PAST, FUTURE = 0, 1, 2
_SOURCE_FUTURE = "vlo"


@dataclass(slots=True, eq=False)
class Word:
    """A target word: what it says, which source word it translates, and how it could have gone wrong.

    source   surface of the source word it translates; "" for punctuation
    kind     noun, verb, adjective, adverb, name, preposition, determiner, function, number, mark
    form     index into the sense's forms
    options  what else this function word or determiner could be (all its forms); () for open classes
    """

    surface: str
    source: str
    kind: str
    lemma: Lemma | None = None
    sense: Sense | None = None
    form: int = 0
    options: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Phrase:
    source: list[str]
    target: list[Word]

    def __add__(self, phrase: "Phrase") -> "Phrase":
        return Phrase(self.source + phrase.source, self.target + phrase.target)


def _agreeing(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in AGREEING_ENDINGS)


# (source singular, source plural, target forms)
_DETERMINERS = (
    ("ka", "ka", _agreeing("l")),
    ("ka", "ka", _agreeing("l")),
    ("om", "", _agreeing("jen")),
    ("zhen", "zhenor", _agreeing("huat")),
    ("dro", "dro", _agreeing("nis")),
)
# (source, target, person, number); persons 0, 1, 2
_PRONOUNS = (
    ("me", "yu", 0, 0), ("mor", "yuis", 0, 1), ("be", "ti", 1, 0), ("bor", "tis", 1, 1),
    ("ze", "ela", 2, 0), ("zor", "elan", 2, 1),
)  # fmt: skip
_CONJUNCTIONS = (("ai", "e", ""), ("nod", "sal", ","), ("domai", "quis", ","), ("kar", "fusta", ""))
_QUESTION_WORDS = (("vaz", "chuê"), ("vair", "fiond"), ("vond", "tlan"))
_RELATIVE = ("zot", "que")
_NEGATION = ("nek", "no")
RESERVED = frozenset(
    [
        _SOURCE_FUTURE,
        *(word for entry in (*_PRONOUNS, *_CONJUNCTIONS, *_QUESTION_WORDS) for word in entry[:2]),
        *_RELATIVE,
        *_NEGATION,
        *(form for singular, plural, forms in _DETERMINERS for form in (singular, plural, *forms)),
    ]
)
FUNCTION_WORDS = ("e", "sal", "que", "no", "lu", "lê", "fusta")


@dataclass(eq=False)
class Grammar:
    lexicon: Lexicon
    dice: Dice
    topic: int = 0
    register: int = 0

    def sentence(self, registers: tuple[float, ...]) -> Phrase:
        dice = self.dice
        self.topic, self.register = dice.below(TOPICS), dice.from_cumulative(registers)
        kind = dice.uniform()
        if kind < 0.08:
            source, target = dice.pick(_QUESTION_WORDS)
            subject, person, number = self._subject()
            verb = self._verb(person, number)
            rest = self._complement()
            words = [Word(target, source, "function"), *verb.target, *subject.target, *rest.target]
            return _marked(Phrase([source, *subject.source, *verb.source, *rest.source], words), "?")
        body = self._clause()
        more = 0.7
        while dice.chance(more) and len(body.source) < 40:
            source, target, comma = dice.pick(_CONJUNCTIONS)
            body.source += [comma, source] if comma else [source]
            body.target += [Word(",", "", "mark")] if comma else []
            body.target.append(Word(target, source, "function"))
            body, more = body + self._clause(), 0.35
        if kind < 0.30:
            phrase = self._prepositional()
            if len(phrase.source) > 3:
                phrase.source.append(",")
            phrase.target.append(Word(",", "", "mark"))
            body = phrase + body
        return _marked(body, "!" if kind > 0.97 else ".")

    def _clause(self) -> Phrase:
        subject, person, number = self._subject()
        verb = self._verb(person, number)
        if self.dice.chance(0.25):
            adverb = self._open(self.lexicon.adverbs.draw(self.dice, self.register), "adverb", 0, 0)
            verb = Phrase(adverb.source + verb.source, verb.target + adverb.target)
        return subject + verb + self._complement()

    def _complement(self) -> Phrase:
        phrase = self._noun_phrase()[0] if self.dice.chance(0.80) else Phrase([], [])
        while self.dice.chance(0.42):
            phrase = phrase + self._prepositional()
        return phrase

    def _subject(self) -> tuple[Phrase, int, int]:
        if self.dice.chance(0.22):
            source, target, person, number = self.dice.pick(_PRONOUNS)
            return Phrase([source], [Word(target, source, "function")]), person, number
        phrase, number = self._noun_phrase()
        if self.dice.chance(0.18):
            source, target = _RELATIVE
            verb = self._verb(2, number)
            rest = self._noun_phrase()[0]
            words = [Word(target, source, "function"), *rest.target, *verb.target]
            phrase = phrase + Phrase([source, *verb.source, *rest.source], words)
        return phrase, 2, number

    def _prepositional(self) -> Phrase:
        lemma = self.lexicon.prepositions.draw(self.dice, self.register)
        return self._open(lemma, "preposition", 0, 0) + self._noun_phrase()[0]

    def _noun_phrase(self) -> tuple[Phrase, int]:
        dice = self.dice
        if dice.chance(0.10):
            return self._open(self.lexicon.names.draw(dice, self.register), "name", 0, 0), 0
        number = int(dice.chance(0.35))
        topic = self.topic if dice.chance(0.5) else None
        noun = self._open(self.lexicon.nouns.draw(dice, self.register, topic), "noun", number, number)
        sense = noun.target[0].sense
        form = 2 * (sense.gender if sense else 0) + number
        if number and dice.chance(0.15):
            source = f"{int(10 ** (0.4 + 4 * dice.uniform())):,}"
            determiner = Phrase([source], [Word(source.replace(",", "."), source, "number")])
        else:
            singular, plural, forms = dice.pick(_DETERMINERS)
            source = plural if number else singular
            word = Word(forms[form], source, "determiner", form=form, options=forms)
            determiner = Phrase([source] if source else [], [word])
        adjectives = Phrase([], [])
        while dice.chance(0.36) and len(adjectives.source) < 3:
            lemma = self.lexicon.adjectives.draw(dice, self.register)
            adjectives = adjectives + self._open(lemma, "adjective", 0, form)
        described = Phrase(adjectives.source + noun.source, noun.target + adjectives.target)
        return determiner + described, number

    def _verb(self, person: int, number: int) -> Phrase:
        dice = self.dice
        tense = dice.from_cumulative((0.45, 0.85, 1.0))
        source_form = 2 if tense == PAST else int((tense, person, number) == (PRESENT, 2, 0))
        lemma = self.lexicon.verbs.draw(dice, self.register)
        verb = self._open(lemma, "verb", source_form, 6 * tense + 2 * person + number)
        if tense == FUTURE:
            verb.source.insert(0, _SOURCE_FUTURE)
        if dice.chance(0.07):
            source, target = _NEGATION
            verb.source.append(source)
            verb.target.insert(0, Word(target, source, "function"))
        return verb

    def _open(self, lemma: Lemma, kind: str, source_form: int, form: int) -> Phrase:
        sense = lemma.senses[lemma.by_topic[self.topic]]
        source = lemma.forms[source_form]
        return Phrase([source], [Word(sense.forms[form], source, kind, lemma, sense, form)])


def _marked(body: Phrase, mark: str) -> Phrase:
    return Phrase([*body.source, mark], [*body.target, Word(mark, "", "mark")])


def text(tokens: list[str]) -> str:
    """Tokens as written text: marks attached, the first letter a capital."""
    joined = " ".join(tokens)
    for mark in ",.?!":
        joined = joined.replace(f" {mark}", mark)
    return joined[:1].upper() + joined[1:]


# Cumulative probabilities of the registers, of plain text and of text to be translated: rare ones are as
# frequent.
PLAIN_REGISTERS = (0.05, 0.15, 0.45, 0.80, 1.0)
MIXED_REGISTERS = (0.2, 0.4, 0.6, 0.8, 1.0)
