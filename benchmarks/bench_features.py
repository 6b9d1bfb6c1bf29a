"""What turning text into features costs, and that fast tokenization is still Moses tokenization.

python benchmarks/bench_features.py check-tokenizer   # every line of the shared data, about 15 minutes
python benchmarks/bench_features.py tokenizer         # lines per second against sacremoses
"""

import argparse
import gzip
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from sacremoses import MosesTokenizer

from features.core.tokenizer import Tokenizer, batches, normalise

LANGUAGES = ("en", "es", "de", "ro")
FOLDERS = ("alignment", "golden", "mlqe-pe", "wmt12-qe", "parallel")
DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def check_tokenizer(data: Path) -> None:
    """Every line of every file, four languages, as it is and normalised, against sacremoses."""
    total = {"lines": 0, "differences": 0}
    for language in LANGUAGES:
        lines = differences = 0
        moses = MosesTokenizer(language)
        kinds = [Tokenizer(language, normalise=False), Tokenizer(language, normalise=True)]
        for batch in batches(every_line(data), 16_384):
            found = [tokenizer.tokens(batch) for tokenizer in kinds]
            for i, line in enumerate(batch):
                plain = normalise(line)
                expected = moses.tokenize(line, escape=False)
                differences += found[0].words(i) != expected
                if plain != line:
                    expected = moses.tokenize(plain, escape=False)
                differences += found[1].words(i) != expected
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


def tokenizer_speed(data: Path) -> None:
    """Lines per second on 50,000 lines of the parallel corpus, one core."""
    for language in ("en", "es"):
        lines = first_lines(data / f"parallel/en-es/train.{language}.gz", 50_000)
        tokenizer, moses = Tokenizer(language), MosesTokenizer(language)
        tokenizer.tokens(["one line, so that everything is loaded."])
        ours, again = rate(tokenizer.tokens, lines), rate(tokenizer.tokens, lines)
        one = rate(each(tokenizer.split), lines[:5000])
        theirs = rate(each(partial(moses.tokenize, escape=False)), lines[:5000])
        print(
            f"{language}: tokens {ours:,.0f} lines/s (again {again:,.0f}), split {one:,.0f}, "
            f"sacremoses {theirs:,.0f}; ratio {ours / theirs:.1f}"
        )


def each(function: Callable[[str], object]) -> Callable[[list[str]], object]:
    return lambda lines: [function(line) for line in lines]


def first_lines(path: Path, n: int) -> list[str]:
    """The first n lines of a gzip file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line, _ in zip(stream, range(n), strict=False)]


def rate(work: Callable[[list[str]], object], lines: list[str]) -> float:
    """Lines per second of processor time."""
    start = time.process_time()
    work(lines)
    return len(lines) / (time.process_time() - start)


COMMANDS: dict[str, Callable[[Path], None]] = {
    "check-tokenizer": check_tokenizer,
    "tokenizer": tokenizer_speed,
}


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--data-root", type=Path, default=DATA)
    options = parser.parse_args(None if arguments is None else list(arguments))
    COMMANDS[options.command](options.data_root)


if __name__ == "__main__":
    main()
