"""Cost of turning text into features; check that fast tokenization equals Moses's.

python benchmarks/bench_features.py check-tokenizer   # every line of the shared data, 10 minutes a language
python benchmarks/bench_features.py tokenizer         # lines per second against sacremoses
"""

import argparse
import gzip
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from sacremoses import MosesTokenizer

from features.baseline17 import Baseline17
from features.core.bundle import Bundle
from features.core.feature_set import make_extractor
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.surface import Surface
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer, batches, normalise
from features.text.tokens import Tokens

T = TypeVar("T")
Pair = tuple[str, str]
RAW_BLOCKS = ("news-test2008", "newstest2011", "newstest2013", "ntrex", "europarl-d", "undev", "tico19")
LANGUAGES = ("en", "es", "de", "ro")
FOLDERS = ("alignment", "golden", "mlqe-pe", "wmt12-qe", "parallel")
DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def check_tokenizer(data: Path, bundle: Path | None) -> None:
    """Every line of every file, four languages, as it is and normalised, against sacremoses."""
    total = {"lines": 0, "differences": 0}
    for language in LANGUAGES:
        lines = differences = 0
        moses = MosesTokenizer(language)
        kinds = [Tokenizer(language, normalise=False), Tokenizer(language, normalise=True)]
        for batch in batches(every_line(data), 16_384):
            listed = [tokenizer.tokens(batch) for tokenizer in kinds]
            for i, line in enumerate(batch):
                plain = normalise(line)
                expected = moses.tokenize(line, escape=False)
                differences += listed[0].words(i) != expected
                if plain != line:
                    expected = moses.tokenize(plain, escape=False)
                differences += listed[1].words(i) != expected
            lines += len(batch)
        print(f"{language}: {lines} lines, raw and normalised, {differences} differences", flush=True)
        total["lines"] += lines
        total["differences"] += differences
    print(f"all: {total['lines']} lines, {total['differences']} differences")


def every_line(data: Path) -> Iterator[str]:
    """The lines of all files of the shared data."""
    for folder in FOLDERS:
        for path in sorted(p for p in (data / folder).rglob("*") if p.is_file()):
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
                yield from (line.rstrip("\n") for line in stream)


def tokenizer_speed(data: Path, bundle: Path | None) -> None:
    """Lines per second on 50,000 lines of the parallel corpus, one core."""
    for language in ("en", "es"):
        lines = first_lines(data / f"parallel/en-es/train.{language}.gz", 50_000)
        tokenizer, moses = Tokenizer(language), MosesTokenizer(language)
        tokenizer.tokens(["a line, so that everything is loaded."] * 16)
        ours, again = rate(tokenizer.tokens, lines), rate(tokenizer.tokens, lines)
        one = rate(each(tokenizer.split), lines[:5000])
        theirs = rate(each(partial(moses.tokenize, escape=False)), lines[:5000])
        print(
            f"{language}: tokens {ours:,.0f} lines/s (again {again:,.0f}), split {one:,.0f}, "
            f"sacremoses {theirs:,.0f}; ratio {ours / theirs:.1f}"
        )


def corpus_speed(data: Path, bundle: Path | None) -> None:
    """Reading the 315,831 pairs of the en-es corpus."""
    folder = data / "parallel/en-es"
    start = time.process_time()
    corpus = ParallelCorpus.read(
        folder / "train.en.gz", folder / "train.es.gz", Tokenizer("en"), Tokenizer("es")
    )
    seconds = time.process_time() - start
    tokens = len(corpus.source.ids) + len(corpus.target.ids)
    print(f"corpus: {len(corpus):,} pairs, {tokens:,} tokens in {seconds:.1f} s of processor time")


def baseline17_speed(data: Path, bundle: Path | None) -> None:
    """The 17 features of raw text, tokenization included, against sacremoses's tokenizer."""
    made = baseline17(data, bundle)
    pairs = raw_pairs(data, 20_000)
    made.extract(segments_of(pairs[:10]))
    ours = rate(lambda given: made.extract(segments_of(given)), pairs)
    moses = [partial(MosesTokenizer(language).tokenize, escape=False) for language in ("en", "es")]

    def with_sacremoses(given: list[Pair]) -> None:
        segments = segments_of(given)
        for tokenize, side, texts in zip(moses, ("source", "target"), zip(*given, strict=True), strict=True):
            tokens = Tokens.from_lists(tokenize(normalise(text)) for text in texts)
            segments.__dict__[f"{side}_tokens"] = tokens
        made.extract(segments)

    theirs = rate(with_sacremoses, pairs[:4000])
    print(f"baseline17: {ours:,.0f} segments/s; with sacremoses {theirs:,.0f}; ratio {ours / theirs:.1f}")
    tokens = rate(lambda given: (s := segments_of(given)).source_tokens and s.target_tokens, pairs)
    print(f"  tokenization is {ours / tokens:.0%} of it")


def surface_speed(data: Path, bundle: Path | None) -> None:
    """The surface features of raw text, in one batch and in batches of 100."""
    pairs, made = raw_pairs(data, 20_000), Surface()
    made.extract(segments_of(pairs[:10]))
    whole = rate(lambda given: made.extract(segments_of(given)), pairs)
    parts = rate(lambda given: [made.extract(segments_of(b)) for b in batches(given, 100)], pairs)
    print(f"surface: {whole:,.0f} segments/s; in batches of 100 {parts:,.0f}; ratio {whole / parts:.1f}")


def baseline17(data: Path, bundle: Path | None) -> Baseline17:
    """The extractor with the resources of a bundle, or with small ones made now."""
    if bundle is not None:
        return cast(Baseline17, make_extractor({"kind": "baseline17"}, Bundle(bundle)))
    corpus = ParallelCorpus.from_lines(raw_pairs(data, 20_000), Tokenizer("en"), Tokenizer("es"))
    return Baseline17(
        LanguageModel.build(corpus, side="source", order=3),
        LanguageModel.build(corpus, side="target", order=5),
        NgramCounts.build(corpus, side="source", order=3),
        Lexicon.build(corpus),
    )


def raw_pairs(data: Path, n: int) -> list[Pair]:
    """First n pairs of the blocks of the en-es corpus that are not tokenized (news, UN, ...)."""
    folder = data / "parallel/en-es"
    sides = [first_lines(folder / f"train.{side}.gz", 315_831) for side in ("en", "es")]
    rows = (folder / "train.sources.tsv").read_text("utf-8").splitlines()
    blocks = [row.split("\t") for row in rows if row.startswith(RAW_BLOCKS)]
    kept = [i for block in blocks for i in range(int(block[1]) - 1, int(block[2]))]
    return [(sides[0][i], sides[1][i]) for i in kept[:n]]


def segments_of(pairs: list[Pair]) -> Segments:
    sources, targets = zip(*pairs, strict=True)
    return Segments(sources, targets, Tokenizer("en"), Tokenizer("es"))


def each(function: Callable[[str], object]) -> Callable[[list[str]], object]:
    return lambda lines: [function(line) for line in lines]


def first_lines(path: Path, n: int) -> list[str]:
    """The first n lines of a gzip file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line, _ in zip(stream, range(n), strict=False)]


def rate(work: Callable[[list[T]], object], items: list[T]) -> float:
    """Items per second of processor time."""
    start = time.process_time()
    work(items)
    return len(items) / (time.process_time() - start)


COMMANDS: dict[str, Callable[[Path, Path | None], None]] = {
    "check-tokenizer": check_tokenizer,
    "tokenizer": tokenizer_speed,
    "corpus": corpus_speed,
    "baseline17": baseline17_speed,
    "surface": surface_speed,
}


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--bundle", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    COMMANDS[options.command](options.data_root, options.bundle)


if __name__ == "__main__":
    main()
