"""Writes the demo data: a parallel corpus, labelled translations, and new ones to score."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.basics.errors import InputError
from features.storage.files import atomic_file
from qe.display.numbers import fixed
from qe.getting_started.demo.annotators import JUDGES, judge, weighted_mean
from qe.getting_started.demo.dice import Dice
from qe.getting_started.demo.grammar import RESERVED, Grammar, mixed_registers, plain_registers, text
from qe.getting_started.demo.lexicon import Lexicon, make_lexicon
from qe.getting_started.demo.translator import Translator

COLUMNS = ("source", "target", "post_edit", "scores", "judges", "weights")


@dataclass(frozen=True)
class DemoData:
    """Paths of the demo data; every file is UTF-8 text with one segment per line.

    corpus.source, corpus.target   the parallel corpus
    train.*, test.*                one file per name in COLUMNS
    new.tsv                        unlabelled translations: id, source, target, with a header
    """

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
        """The file of a column of COLUMNS; `split` is `train` or `test`."""
        return self.directory / f"{split}.{name}"

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that was written."""
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

    The same seed gives the same bytes, and each part depends on the seed and its own size alone: a
    smaller corpus is the beginning of a larger one.

    Raises InputError if a size is not positive.
    """
    data = DemoData(directory, seed, pairs, train, test, new)
    for name in ("pairs", "train", "test", "new"):
        if getattr(data, name) < 1:
            raise InputError(f"{name} must be at least 1, but got {getattr(data, name)}")
    words, *streams = np.random.SeedSequence(seed).spawn(5)
    lexicon = make_lexicon(Dice(words), RESERVED)
    _write_corpus(data, lexicon, streams[0])
    for split, size, stream in (("train", train, streams[1]), ("test", test, streams[2])):
        _write_labelled(data, split, _segments(lexicon, size, stream))
    rows = _segments(lexicon, new, streams[3])
    lines = [f"new-{i}\t{row.source}\t{row.target}" for i, row in enumerate(rows, start=1)]
    _write(data.new_translations, ["id\tsource\ttarget", *lines])
    return data


@dataclass(frozen=True, slots=True)
class Judged:
    """A translated segment with everything known of it."""

    source: str
    target: str
    post_edit: str
    judges: tuple[int, ...]
    errors: tuple[str, ...]


def _segments(lexicon: Lexicon, size: int, seed: np.random.SeedSequence) -> list[Judged]:
    texts, errors, moods = (Dice(stream) for stream in seed.spawn(3))
    grammar, translator, registers = Grammar(lexicon, texts), Translator(errors), mixed_registers()
    segments = []
    for _ in range(size):
        phrase = grammar.sentence(registers)
        output = translator.translate(phrase.target)
        right = text([word.surface for word in phrase.target])
        source, target = text(phrase.source), text(list(output.tokens))
        segments.append(Judged(source, target, right, judge(output, moods), output.errors))
    return segments


def _write_corpus(data: DemoData, lexicon: Lexicon, seed: np.random.SeedSequence) -> None:
    grammar, registers = Grammar(lexicon, Dice(seed)), plain_registers()
    source, target = [], []
    for _ in range(data.pairs):  # as text at once: the collector need not walk through a corpus of words
        phrase = grammar.sentence(registers)
        source.append(text(phrase.source))
        target.append(text([word.surface for word in phrase.target]))
    _write(data.corpus_source, source)
    _write(data.corpus_target, target)


def _write_labelled(data: DemoData, split: str, rows: Sequence[Judged]) -> None:
    weights = "\t".join(fixed(one.weight, 2) for one in JUDGES)
    columns = {
        "source": [row.source for row in rows],
        "target": [row.target for row in rows],
        "post_edit": [row.post_edit for row in rows],
        "scores": [fixed(weighted_mean(row.judges), 1) for row in rows],
        "judges": ["\t".join(map(str, row.judges)) for row in rows],
        "weights": [weights] * len(rows),
    }
    for name in COLUMNS:
        _write(data.column(split, name), columns[name])


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
