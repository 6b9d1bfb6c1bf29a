"""Language models against kenlm and IRSTLM: build, ARPA, scoring, perplexity.

python benchmarks/studies/speed_language_model.py  # target 5-gram, source 3-gram, all checks
python benchmarks/studies/speed_language_model.py --models target:3     # one model
python benchmarks/studies/speed_language_model.py --no-irstlm           # minutes less
python benchmarks/studies/speed_language_model.py --no-irstlm --pairs 2000000  # grown by sampling \\
    sentence pairs

Trained on the English-Spanish corpus without its block newstest2013, which is what is scored. Perplexities
are over the events (words and </s>) that are in the vocabulary, the same for all. IRSTLM is the Debian
package of that name (`apt-get install irstlm`), its program `tlm`, kenlm the Python package.
"""

import argparse
import csv
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from features.resources.language_model import LanguageModel
from features.resources.ngrams import NgramCounts
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens, segment_sum

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
HELD_OUT = "newstest2013"
IRSTLM = Path(os.environ.get("IRSTLM", "/usr/lib/irstlm")) / "bin" / "tlm"


@contextmanager
def timed(what: str, times: dict[str, float] | None = None) -> Iterator[None]:
    """Prints CPU and wall seconds of a block, its child processes included."""
    before, started = cpu_seconds(), time.perf_counter()
    yield
    cpu, wall = cpu_seconds() - before, time.perf_counter() - started
    print(f"  {what}: {cpu:.1f} s CPU, {wall:.1f} s wall", flush=True)
    if times is not None:
        times[what] = cpu


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def read_corpus(data: Path) -> tuple[ParallelCorpus, ParallelCorpus]:
    """(training part, held-out block)."""
    folder = data / "parallel/en-es"
    corpus = ParallelCorpus.read(
        folder / "train.en.gz", folder / "train.es.gz", Tokenizer("en"), Tokenizer("es")
    )
    with (folder / "train.sources.tsv").open(encoding="utf-8", newline="") as stream:
        blocks = {row["source"]: row for row in csv.DictReader(stream, delimiter="\t")}
    block = blocks[HELD_OUT]
    rows = np.arange(len(corpus))
    held_out = (rows >= int(block["first_line"]) - 1) & (rows < int(block["last_line"]))
    return corpus.take(rows[~held_out]), corpus.take(rows[held_out])


def bench_model(train: Tokens, unseen: Tokens, order: int, folder: Path, with_irstlm: bool) -> None:
    times: dict[str, float] = {}
    LanguageModel.from_tokens(unseen, order=order).score(unseen)  # compiles
    with timed("build", times):
        model = LanguageModel.from_tokens(train, order=order)
    print(f"  {sum(model.trie.sizes):,} n-grams {model.trie.sizes}; peak so far {peak_gib():.2f} GiB")
    with timed("write ARPA", times):
        model.write_arpa(folder / "ours.arpa")
    with timed("write ARPA, gzip"):
        model.write_arpa(folder / "ours.arpa.gz")
    known = known_events(model, unseen)
    scores = model.score(unseen)
    perplexity = 10 ** -scores.log10[known].mean()
    print(f"  perplexity: {perplexity:.2f} ({known.mean():.2%} of events known)")
    theirs = kenlm_scores(folder / "ours.arpa", unseen)
    if theirs is not None:
        bench_scoring(model, unseen, theirs)
    if with_irstlm:
        bench_irstlm(train, unseen, order, folder, known, perplexity, times)


def known_events(model: LanguageModel, tokens: Tokens) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which events are `</s>` or words of the vocabulary."""
    scores = model.score(tokens)
    known = scores.is_end.copy()
    known[~scores.is_end] = tokens.lower().ids_in(model.vocabulary) > 0
    return known


class KenlmScores:
    """What kenlm says of every event and sentence, and how fast."""

    def __init__(self, path: Path, tokens: Tokens) -> None:
        import kenlm

        model = kenlm.Model(str(path))
        lines = sentences(tokens)
        started = time.process_time()
        self.sums = np.array([model.score(line) for line in lines])
        self.rate = len(tokens.ids) / (time.process_time() - started)
        self.events = np.array([row[0] for line in lines for row in model.full_scores(line)])


def kenlm_scores(path: Path, tokens: Tokens) -> KenlmScores | None:
    try:
        return KenlmScores(path, tokens)
    except ImportError:
        print("  kenlm is not installed: no comparison with it (pip install kenlm)")
        return None


def sentences(tokens: Tokens) -> list[str]:
    lower = tokens.lower()
    return [" ".join(lower.words(i)) for i in range(len(lower))]


def bench_scoring(model: LanguageModel, tokens: Tokens, theirs: KenlmScores) -> None:
    rates = []
    for _ in range(5):
        started = time.process_time()
        sums = model.log10_probability(tokens)
        rates.append(len(tokens.ids) / (time.process_time() - started))
    ratio = max(rates) / theirs.rate
    print(f"  scoring: {max(rates):,.0f} tokens per CPU second; kenlm.score {theirs.rate:,.0f}: x{ratio:.1f}")
    difference = np.abs(sums - theirs.sums).max()
    exact = np.abs(sums - segment_sum(theirs.events, model.score(tokens).offsets)).max()
    print(f"  kenlm on our ARPA, largest difference of a sentence: {difference:.1e}; {exact:.1e} where the")
    print("    words it scores are added with 53 bits (it adds with 24)")


def bench_irstlm(
    train: Tokens,
    unseen: Tokens,
    order: int,
    folder: Path,
    known: np.ndarray[Any, np.dtype[np.bool_]],
    perplexity: float,
    times: dict[str, float],
) -> None:
    """IRSTLM's improved Kneser-Ney of the same order on the same text, nothing pruned."""
    if not IRSTLM.is_file():
        print(f"  IRSTLM is not installed ({IRSTLM} is absent): skipped (apt-get install irstlm)")
        return
    text = folder / "train.txt"
    text.write_text("".join(f"<s> {line} </s>\n" for line in sentences(train)), "utf-8")
    output = folder / "irstlm.arpa"
    options = [f"-n={order}", "-lm=ImprovedKneserNey", "-PruneSingletons=no", f"-oARPA={output}"]
    with timed("IRSTLM, text to ARPA", times):
        subprocess.run([str(IRSTLM), f"-tr={text}", *options], check=True, capture_output=True)
    theirs = kenlm_scores(output, unseen)
    if theirs is not None:
        outcome = 10 ** -theirs.events[known].mean()
        print(f"  IRSTLM perplexity: {outcome:.2f}; ours / theirs {perplexity / outcome:.4f} (at most 1.01)")
    ours = times["build"] + times["write ARPA"]
    print(f"  CPU, ours / theirs: {ours / times['IRSTLM, text to ARPA']:.3f} (at most 1)")


def bench_counts(train: ParallelCorpus) -> None:
    print("n-gram counts")
    for side in ("source", "target"):
        for order in (3, 5):
            with timed(f"{side}, order {order}"):
                counts = NgramCounts.from_tokens(train.side(side), order=order)
            print(f"    {sum(counts.trie.sizes):,} n-grams; peak so far {peak_gib():.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of shared data")
    parser.add_argument("--models", nargs="*", default=["target:5", "source:3"], metavar="SIDE:ORDER")
    parser.add_argument("--no-irstlm", action="store_true")
    parser.add_argument(
        "--pairs", type=int, help="sample this many training pairs (with replacement, seed 0)"
    )
    arguments = parser.parse_args()
    print("corpus")
    with timed("read and tokenize"):
        train, unseen = read_corpus(arguments.data)
    if arguments.pairs:
        train = train.take(np.random.default_rng(0).integers(len(train), size=arguments.pairs))
    tokens = f"{len(train.source.ids):,} / {len(train.target.ids):,} tokens"
    print(
        f"  {len(train):,} pairs, {tokens}, held out {HELD_OUT}: {len(unseen):,}; peak {peak_gib():.2f} GiB"
    )
    for name in arguments.models:
        side, _, order = name.partition(":")
        print(f"{side} {order}-gram")
        folder = Path(tempfile.mkdtemp(prefix="bench-lm-"))
        try:
            bench_model(train.side(side), unseen.side(side), int(order), folder, not arguments.no_irstlm)
        finally:
            shutil.rmtree(folder)
    bench_counts(train)


if __name__ == "__main__":
    main()
