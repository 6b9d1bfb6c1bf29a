"""The grammar: sentences in both languages at once.

Each target word knows where it comes from.

The source language is strict SVO with adjectives before nouns and hardly any inflection. The target
language puts adjectives after nouns, agrees them and determiners in gender and number, inflects verbs for
tense, person and number, begins questions with the verb and ends relative clauses with it.
"""

from dataclasses import dataclass

from qe.getting_started.demo.dice import Dice
from qe.getting_started.demo.lexicon import AGREEING_ENDINGS, REGISTERS, TOPICS, Lemma, Lexicon, Sense

PRESENT, PAST, FUTURE = 0, 1, 2
_SOURCE_FUTURE = "vlo"


@dataclass(slots=True, eq=False)
class Word:
    """A target word: what it says, and which source word it translates.

    It also knows how it could have gone wrong.

    surface  the word as written
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
    """The same constituent in both languages."""

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
    [entry[0] for entry in (*_PRONOUNS, *_CONJUNCTIONS, *_QUESTION_WORDS, _RELATIVE, _NEGATION)]
    + [entry[1] for entry in (*_PRONOUNS, *_CONJUNCTIONS, *_QUESTION_WORDS, _RELATIVE, _NEGATION)]
    + [form for singular, plural, forms in _DETERMINERS for form in (singular, plural, *forms)]
    + [_SOURCE_FUTURE]
)
FUNCTION_WORDS = ("e", "sal", "que", "no", "lu", "lê", "fusta")


class Grammar:
    """Sentences of one lexicon, drawn with the given dice."""

    def __init__(self, lexicon: Lexicon, dice: Dice) -> None:
        self.lexicon, self.dice = lexicon, dice
        self.topic, self.register = 0, 0

    def sentence(self, registers: tuple[float, ...]) -> Phrase:
        """One sentence; `registers` are the cumulative probabilities of REGISTERS.

        The topic decides which sense of an ambiguous word is meant, and which nouns are likely.
        """
        dice = self.dice
        self.topic, self.register = dice.below(TOPICS), dice.from_cumulative(registers)
        kind = dice.uniform()
        if kind < 0.08:
            return self._question()
        body = self._clause()
        more = 0.7
        while dice.chance(more) and len(body.source) < 40:
            body = body + self._conjunction() + self._clause()
            more = 0.35
        if kind < 0.30:
            body = self._introduction() + body
        return _marked(body, "!" if kind > 0.97 else ".")

    def _question(self) -> Phrase:
        source, target = self.dice.pick(_QUESTION_WORDS)
        subject, person, number = self._subject()
        verb = self._verb(person, number)
        rest = self._complement()
        words = [Word(target, source, "function"), *verb.target, *subject.target, *rest.target]
        return _marked(Phrase([source, *subject.source, *verb.source, *rest.source], words), "?")

    def _clause(self) -> Phrase:
        subject, person, number = self._subject()
        verb = self._verb(person, number)
        if self.dice.chance(0.25):
            verb = _reordered(self._adverb(), verb)
        return subject + verb + self._complement()

    def _complement(self) -> Phrase:
        phrase = self._noun_phrase()[0] if self.dice.chance(0.80) else Phrase([], [])
        while self.dice.chance(0.42):
            phrase = phrase + self._prepositional()
        return phrase

    def _introduction(self) -> Phrase:
        phrase = self._prepositional()
        if len(phrase.source) > 3:
            phrase.source.append(",")
        phrase.target.append(Word(",", "", "mark"))
        return phrase

    def _conjunction(self) -> Phrase:
        source, target, comma = self.dice.pick(_CONJUNCTIONS)
        words = [Word(",", "", "mark")] if comma else []
        return Phrase([comma, source] if comma else [source], [*words, Word(target, source, "function")])

    def _subject(self) -> tuple[Phrase, int, int]:
        if self.dice.chance(0.22):
            source, target, person, number = self.dice.pick(_PRONOUNS)
            return Phrase([source], [Word(target, source, "function")]), person, number
        phrase, number = self._noun_phrase()
        if self.dice.chance(0.18):
            phrase = phrase + self._relative_clause(number)
        return phrase, 2, number

    def _relative_clause(self, number: int) -> Phrase:
        source, target = _RELATIVE
        verb = self._verb(2, number)
        rest = self._noun_phrase()[0]
        words = [Word(target, source, "function"), *rest.target, *verb.target]
        return Phrase([source, *verb.source, *rest.source], words)

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
        determiner = self._numeral() if number and dice.chance(0.15) else self._determiner(form)
        adjectives = Phrase([], [])
        while dice.chance(0.36) and len(adjectives.source) < 3:
            lemma = self.lexicon.adjectives.draw(dice, self.register)
            adjectives = adjectives + self._open(lemma, "adjective", 0, form)
        return determiner + _reordered(adjectives, noun), number

    def _determiner(self, form: int) -> Phrase:
        singular, plural, forms = self.dice.pick(_DETERMINERS)
        source = plural if form % 2 else singular
        word = Word(forms[form], source, "determiner", form=form, options=forms)
        return Phrase([source] if source else [], [word])

    def _numeral(self) -> Phrase:
        value = int(10 ** (0.4 + 4 * self.dice.uniform()))
        source = f"{value:,}"
        target = source.replace(",", ".")
        return Phrase([source], [Word(target, source, "number")])

    def _verb(self, person: int, number: int) -> Phrase:
        dice = self.dice
        tense = dice.from_cumulative((0.45, 0.85, 1.0))
        third = person == 2 and number == 0
        source_form = 2 if tense == PAST else int(tense == PRESENT and third)
        lemma = self.lexicon.verbs.draw(dice, self.register)
        verb = self._open(lemma, "verb", source_form, 6 * tense + 2 * person + number)
        if tense == FUTURE:
            verb.source.insert(0, _SOURCE_FUTURE)
        if dice.chance(0.07):
            source, target = _NEGATION
            verb.source.append(source)
            verb.target.insert(0, Word(target, source, "function"))
        return verb

    def _adverb(self) -> Phrase:
        return self._open(self.lexicon.adverbs.draw(self.dice, self.register), "adverb", 0, 0)

    def _open(self, lemma: Lemma, kind: str, source_form: int, form: int) -> Phrase:
        sense = lemma.senses[lemma.by_topic[self.topic]]
        source = lemma.forms[source_form]
        return Phrase([source], [Word(sense.forms[form], source, kind, lemma, sense, form)])


def _reordered(first: Phrase, second: Phrase) -> Phrase:
    return Phrase(first.source + second.source, second.target + first.target)


def _marked(body: Phrase, mark: str) -> Phrase:
    return Phrase([*body.source, mark], [*body.target, Word(mark, "", "mark")])


def text(tokens: list[str]) -> str:
    """Tokens as written text: marks attached, the first letter a capital.

    >>> text(["zhen", "vlai", ",", "kar", "me", "dorth", "?"])
    'Zhen vlai, kar me dorth?'
    """
    joined = " ".join(tokens)
    for mark in ",.?!":
        joined = joined.replace(f" {mark}", mark)
    return joined[:1].upper() + joined[1:]


def plain_registers() -> tuple[float, ...]:
    """Cumulative probabilities of the registers in the parallel corpus: mostly plain."""
    return (0.05, 0.15, 0.45, 0.80, 1.0)


def mixed_registers() -> tuple[float, ...]:
    """Cumulative probabilities of the registers in text to be translated.

    Rare registers are as frequent as plain ones.
    """
    n = len(REGISTERS)
    return tuple((i + 1) / n for i in range(n))
