"""Writes the demo data: a parallel corpus, labelled translations, and new ones to score."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from operator import mul
from pathlib import Path

import numpy as np

from features.basics.errors import InputError
from features.storage.files import atomic_file
from qe.display.numbers import fixed
from qe.getting_started.demo import language

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
        return sum(SEVERITY[kind] for kind in self.errors)


@dataclass(frozen=True)
class Translator:
    """Makes errors whose probability grows with rarity, ambiguity and sentence length."""

    dice: language.Dice

    def translate(self, words: Sequence[language.Word]) -> Translation:
        load = exp(_UNREADABLE * self.dice.normal()) * (len(words) / _TYPICAL_LENGTH) ** 0.25
        errors: list[str] = []
        output: list[tuple[str, str]] = []  # (surface, kind)
        for word in words:
            risks = word_risks(word)
            scale = min(load, _CEILING / max(sum(risks.values()), 1e-9))
            error, draw = "", self.dice.uniform()
            for kind, risk in risks.items():
                draw -= scale * risk
                if draw < 0:
                    error = kind
                    errors.append(error)
                    break
            output += self._rendered(word, error)
            swapped = len(output) > 1 and (output[-2][1], output[-1][1]) in _SWAPPED
            if swapped and self.dice.chance(min(0.13 * load, _CEILING)):
                output[-2:] = output[:-3:-1]
                errors.append("order")
        return Translation(tuple(surface for surface, _ in output), tuple(errors))

    def _rendered(self, word: language.Word, error: str) -> list[tuple[str, str]]:
        right = (word.surface, word.kind)
        if error == "dropped":
            return []
        if error == "untranslated":
            return [(word.source, word.kind)]
        if error == "wrong sense":
            assert word.lemma is not None
            senses = [sense for sense in word.lemma.senses if sense is not word.sense]
            return [(self.dice.pick(senses).forms[word.form], word.kind)]
        if error == "agreement":
            forms = word.sense.forms if word.sense else word.options
            return [(self.dice.pick([form for form in forms if form != word.surface]), word.kind)]
        if error == "inserted":
            return [(self.dice.pick(language.FUNCTION_WORDS), "function"), right]
        return [right]


def word_risks(word: language.Word) -> dict[str, float]:
    """Error kind -> its probability at this word in a sentence of typical length."""
    if word.kind in ("mark", "number", "name"):
        return {"dropped": 0.003}
    if word.lemma is None or word.sense is None:
        risks = {"dropped": 0.015, "inserted": 0.01}
        return {**risks, "agreement": 0.04} if word.options else risks
    rarity = word.lemma.rarity
    unusual = 2.0 if word.sense is not word.lemma.senses[0] else 1.0
    risks = {
        "wrong sense": unusual * (len(word.lemma.senses) - 1) * (0.04 + 0.06 * rarity),
        "untranslated": 0.9 * max(rarity - 0.6, 0.0),
        "dropped": 0.005 + 0.04 * rarity**2,
        "inserted": 0.004 + 0.02 * rarity**2,
    }
    if word.kind in _AGREEING:
        risks["agreement"] = 0.02 + 0.08 * rarity**2
    return risks


LOW, HIGH = 1, 5


@dataclass(frozen=True)
class Judge:
    """A judge's habits: weight, strictness and noise in points, and how far good and bad are spread."""

    weight: float
    strictness: float
    sharpness: float
    noise: float

    def score(self, quality: float, dice: language.Dice) -> int:
        """An integer from 1 (translate from scratch) to 5 (hardly any editing) for a true quality."""
        felt = MIDDLE + self.sharpness * (quality - MIDDLE) - self.strictness + self.noise * dice.normal()
        return round(min(max(felt, LOW), HIGH))


MIDDLE = 3.5
# Weights as in the WMT12 training set; the strictest judge counts most there too.
JUDGES = (
    Judge(weight=0.33, strictness=0.0, sharpness=1.0, noise=0.60),
    Judge(weight=0.17, strictness=-0.30, sharpness=0.85, noise=0.60),
    Judge(weight=0.50, strictness=0.25, sharpness=1.10, noise=0.60),
)


COLUMNS = ("source", "target", "post_edit", "scores", "judges", "weights")


@dataclass(frozen=True)
class DemoData:
    """Paths of the demo data; every file is UTF-8 text with one segment per line."""

    directory: Path
    seed: int
    pairs: int
    train: int
    test: int
    new: int

    @property
    def corpus_source(self) -> Path:
        return self.directory / "corpus.source"

    @property
    def corpus_target(self) -> Path:
        return self.directory / "corpus.target"

    @property
    def new_translations(self) -> Path:
        return self.directory / "new.tsv"

    def column(self, split: str, name: str) -> Path:
        return self.directory / f"{split}.{name}"

    @property
    def files(self) -> tuple[Path, ...]:
        labelled = [self.column(split, name) for split in ("train", "test") for name in COLUMNS]
        return (self.corpus_source, self.corpus_target, *labelled, self.new_translations)


def generate(
    directory: Path,
    *,
    seed: int = 1,
    pairs: int = 20_000,
    train: int = 1_200,
    test: int = 400,
    new: int = 2_000,
) -> DemoData:
    """Generates the data and writes it into `directory`, each file atomically; other files stay.

    The same seed gives the same bytes, and each part depends on the seed and its own size alone: a smaller
    corpus is the beginning of a larger one.
    """
    data = DemoData(directory, seed, pairs, train, test, new)
    for name in ("pairs", "train", "test", "new"):
        if getattr(data, name) < 1:
            raise InputError(f"{name} must be at least 1, but got {getattr(data, name)}")
    words, *streams = np.random.SeedSequence(seed).spawn(5)
    lexicon = language.make_lexicon(language.Dice(words), language.RESERVED)
    grammar, sources, targets = language.Grammar(lexicon, language.Dice(streams[0])), [], []
    for _ in range(pairs):  # as text at once: the collector need not walk through a corpus of words
        phrase = grammar.sentence(language.PLAIN_REGISTERS)
        sources.append(language.text(phrase.source))
        targets.append(language.text([word.surface for word in phrase.target]))
    _write(data.corpus_source, sources)
    _write(data.corpus_target, targets)
    for split, size, stream in (("train", train, streams[1]), ("test", test, streams[2])):
        _write_labelled(data, split, _segments(lexicon, size, stream))
    rows = _segments(lexicon, new, streams[3])
    lines = [f"new-{i}\t{row.source}\t{row.target}" for i, row in enumerate(rows, start=1)]
    _write(data.new_translations, ["id\tsource\ttarget", *lines])
    return data


@dataclass(frozen=True, slots=True)
class Judged:
    source: str
    target: str
    post_edit: str
    judges: tuple[int, ...]
    errors: tuple[str, ...]


def _segments(lexicon: language.Lexicon, size: int, seed: np.random.SeedSequence) -> list[Judged]:
    texts, errors, moods = (language.Dice(stream) for stream in seed.spawn(3))
    grammar, translator, segments = language.Grammar(lexicon, texts), Translator(errors), []
    for _ in range(size):
        phrase = grammar.sentence(language.MIXED_REGISTERS)
        output = translator.translate(phrase.target)
        right = language.text([word.surface for word in phrase.target])
        source, target = language.text(phrase.source), language.text(list(output.tokens))
        # What a judge without mood or habits would feel, in points; it may leave the scale.
        density = output.severity / max(len(output.tokens), 1)
        quality = 4.95 - 4.2 * sqrt(density) - 0.13 * sqrt(output.severity)
        judges = tuple(judge.score(quality, moods) for judge in JUDGES)
        segments.append(Judged(source, target, right, judges, output.errors))
    return segments


def _write_labelled(data: DemoData, split: str, rows: Sequence[Judged]) -> None:
    weights = [judge.weight for judge in JUDGES]
    scores = [sum(map(mul, weights, row.judges)) + 1e-9 for row in rows]
    columns = {
        "source": [row.source for row in rows],
        "target": [row.target for row in rows],
        "post_edit": [row.post_edit for row in rows],
        "scores": [fixed(round(score, 1), 1) for score in scores],
        "judges": ["\t".join(map(str, row.judges)) for row in rows],
        "weights": ["\t".join(fixed(weight, 2) for weight in weights)] * len(rows),
    }
    for name in COLUMNS:
        _write(data.column(split, name), columns[name])


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
