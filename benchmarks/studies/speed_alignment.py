"""Lexicons, aligner, phrase table: accuracy against gold links, time, memory, rates.

python benchmarks/studies/speed_alignment.py                      # gold links only: seconds
python benchmarks/studies/speed_alignment.py --large              # also trained on the large corpus: minutes
python benchmarks/studies/speed_alignment.py --large --pairs 2000000   # grown by sampling sentence pairs

F1 on the 200 pairs of en-es/cse256, trained on its 5,401 pairs; with --large also trained on the English-
Spanish corpus alone, which lacks these pairs (but one). The alternative is IBM Model 1 measured in the same
run: every target word and its best source word, unless NULL is better; and eflomal where it is installed.
"""

import argparse
import importlib.util
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from features.resources.aligner import SYMMETRIZATIONS, Aligner
from features.resources.lexicon import NULL, Lexicon
from features.resources.phrase_table import PhraseTable
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus
from features.text.eflomal import align_lines
from features.text.links import Links
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WORDS = Tokenizer("en", "whitespace", normalise=False)

Gold = set[tuple[int, int, int]]


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints CPU and wall seconds of a block, and the peak memory of the process so far."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  {what}: {cpu:.1f} s CPU, {wall:.1f} s wall, peak so far {peak:.2f} GiB", flush=True)


def read_gold(folder: Path) -> tuple[Tokens, Tokens, Gold]:
    source, target = (
        Tokens.from_lists(line.split() for line in read_lines(folder / f"dev.{side}"))
        for side in ("en", "es")
    )
    links = {
        (k - 1, i - 1, j - 1) for k, i, j in (map(int, x.split()) for x in read_lines(folder / "dev.key"))
    }
    return source, target, links


def score(links: Links, gold: Gold) -> tuple[float, float, float]:
    """Precision, recall, F1 (= 1 - AER, as the gold has no possible links)."""
    segment = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    paired = set(zip(segment.tolist(), links.source.tolist(), links.target.tolist(), strict=True))
    right = len(paired & gold)
    return right / len(paired), right / len(gold), 2 * right / (len(paired) + len(gold))


def model1_links(lexicon: Lexicon, source: Tokens, target: Tokens) -> Links:
    left, right = source.lower().ids_in(lexicon.source), target.lower().ids_in(lexicon.target)
    lines = []
    for k in range(len(source)):
        given = np.concatenate(([NULL], left[source.offsets[k] : source.offsets[k + 1]]))
        words = right[target.offsets[k] : target.offsets[k + 1]]
        best = lexicon.probability(given[:, None], words[None, :]).argmax(axis=0)
        lines.append(" ".join(f"{i - 1}-{j}" for j, i in enumerate(best) if i > 0))
    return Links.from_pharaoh(lines)


def report(aligner: Aligner, source: Tokens, target: Tokens, gold: Gold, model1: float) -> None:
    posteriors = aligner.posteriors(source, target)
    for name in SYMMETRIZATIONS:
        print_score(name, posteriors.links(name), gold, model1)


def compare(corpus: ParallelCorpus, folder: Path, eflomal: bool = False) -> Aligner:
    """Trains on the corpus and prints F1."""
    source, target, gold = read_gold(folder)
    with timed("lexicon, one direction"):
        lexicon = Lexicon.build(corpus)
    model1 = score(model1_links(lexicon, source, target), gold)[2]
    print(f"  IBM Model 1          F1 {model1:.4f}")
    del lexicon
    with timed("aligner, both directions"):
        aligner = Aligner.build(corpus)
    report(aligner, source, target, gold, model1)
    if eflomal:
        report_eflomal(corpus, folder, model1)
    return aligner


def report_eflomal(corpus: ParallelCorpus, folder: Path, model1: float) -> None:
    """F1 of eflomal (optional package) on the gold pairs, learned from them and the corpus."""
    if importlib.util.find_spec("eflomal") is None:
        print("  eflomal is not installed: no comparison with it (pip install 'mtqe[eflomal]')")
        return
    _, _, gold = read_gold(folder)
    pairs = zip(*(read_lines(folder / f"dev.{side}") for side in ("en", "es")), strict=True)
    with timed("eflomal (wall; a child process works)"):
        links = Links.from_pharaoh(align_lines(pairs, (WORDS, WORDS), corpus=corpus))
    print_score("grow-diag-final-and", links, gold, model1)


def print_score(name: str, links: Links, gold: Gold, model1: float) -> None:
    precision, recall, f1 = score(links, gold)
    print(f"  {name:<20} P {precision:.3f}  R {recall:.3f}  F1 {f1:.4f}  ({f1 / model1:.2f} x IBM Model 1)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--pairs", type=int, help="sample the large corpus, with replacement, to this size")
    arguments = parser.parse_args()
    folder = arguments.data / "alignment" / "en-es" / "cse256"
    sides = (read_lines(folder / f"corpus.{side}.gz") for side in ("en", "es"))
    small = ParallelCorpus.from_lines(zip(*sides, strict=True), WORDS, WORDS)
    print(f"trained on the {len(small)} pairs of cse256")
    compare(small, folder, eflomal=True)
    if not arguments.large:
        return
    parallel = arguments.data / "parallel" / "en-es"
    corpus = ParallelCorpus.read(parallel / "train.en.gz", parallel / "train.es.gz", WORDS, WORDS)
    if arguments.pairs:
        corpus = corpus.take(np.random.default_rng(0).integers(0, len(corpus), arguments.pairs))
    print(f"trained on {len(corpus)} pairs, {len(corpus.source.ids) + len(corpus.target.ids)} tokens")
    aligner = compare(corpus, folder)
    part = corpus.take(np.arange(5000))
    started = time.process_time()
    aligner.align(part.source, part.target)
    print(f"  aligning: {5000 / (time.process_time() - started):.0f} pairs per CPU second")
    with timed("phrase table"):
        table = PhraseTable.build(corpus, aligner=aligner)
    print(f"  {len(table.target)} phrase pairs, {len(table.source_keys)} source phrases")


if __name__ == "__main__":
    main()
