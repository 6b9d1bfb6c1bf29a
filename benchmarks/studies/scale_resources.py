"""Resources: time and peak memory of every kind of part against the size of the corpus.

python benchmarks/studies/scale_resources.py  # a part of every kind, four sizes
python benchmarks/studies/scale_resources.py --sizes 100000 2000000 --only target_lm aligner
python benchmarks/studies/scale_resources.py --output /tmp/bench  # keeps what was measured, and goes on there

Grows the English-Spanish corpus by sampling sentence pairs with replacement (2,000,000 pairs are 50 million
tokens a side); beyond its own 315,831 pairs tokens grow, but hardly the distinct words and n-grams. Every
part is built in a process of its own, from the encoded corpus on disk: the peak memory is the part's alone.
`cores` is CPU time by wall time: on a busy machine less than the part would use. The last column is the
exponent of growth from size to size, log(time ratio) / log(size ratio): 1 is linear,
and the alternative is the same part at the size before. Parts of tags need an annotated corpus and are not
among them.
"""

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from features.core.bundle import Part, known_parts, with_needs
from features.core.resource import Resource
from features.storage.files import atomic_directory, atomic_file
from features.text.corpus import ParallelCorpus

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SIZES = (100_000, 315_831, 1_000_000, 2_000_000)
# One of every kind; of the kinds with several, the largest.
PARTS = (
    "target_truecaser",
    "target_ngrams5",
    "target_index",
    "target_lm",
    "target_lm_backward",
    "cross_triggers",
    "topic_model",
    "source_ngrams",
    "source_vectors",
    "target_ngram_documents",
    "aligner",
    "tuple_lm",
    "phrase_table",
    "lexicon_source_to_target",
    "target_best_quartile",
    "word_lexicon",
)
MOST_GIB = 8
# Near-linear: n log n between these sizes is 1.08.
STEEPEST = 1.2

Measured = dict[str, float]


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in used)


def peak_gib() -> float:
    """Largest memory of this process and its largest child."""
    return (
        sum(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20
    )


def built(name: str, folder: Path) -> Measured:
    """Builds and saves the part from `folder/corpus` and parts beside it; what that took."""
    part = known_parts()[name]
    kind = kind_of(part)
    needs = {
        parameter: kind_of(known_parts()[need]).load(folder / need) for parameter, need in part.needs.items()
    }
    corpus = ParallelCorpus.load(folder / "corpus")
    started = cpu_seconds(), time.perf_counter()
    made = kind.build(corpus, **part.settings, **needs)
    with atomic_directory(folder / name) as temporary:
        made.save(temporary)
    took = cpu_seconds() - started[0], time.perf_counter() - started[1]
    size = sum(f.stat().st_size for f in (folder / name).rglob("*") if f.is_file())
    if not any(name in part.needs.values() for part in known_parts().values()):
        shutil.rmtree(folder / name)  # nothing else is built from it
    return {"cpu": took[0], "wall": took[1], "peak": peak_gib(), "disk": size / 1e6}


def kind_of(part: Part) -> type[Resource]:
    from features.core.bundle import RESOURCES

    return RESOURCES.get(part.kind)


def grown(data: Path, pairs: int, folder: Path) -> Measured:
    """Saves the corpus of this size, as it is (`qe resources build`) or sampled."""
    started = cpu_seconds(), time.perf_counter()
    whole = folder.parent / "whole"
    if not whole.is_dir():
        from features.text.tokenizer import Tokenizer

        files = [data / "parallel" / "en-es" / f"train.{side}.gz" for side in ("en", "es")]
        corpus = ParallelCorpus.read(files[0], files[1], Tokenizer("en"), Tokenizer("es"))
        with atomic_directory(whole) as temporary:
            corpus.save(temporary)
    corpus = ParallelCorpus.load(whole)
    if pairs != len(corpus):
        corpus = corpus.take(np.random.default_rng(0).integers(0, len(corpus), pairs))
    with atomic_directory(folder / "corpus") as temporary:
        corpus.save(temporary)
    return {
        "cpu": cpu_seconds() - started[0],
        "wall": time.perf_counter() - started[1],
        "peak": peak_gib(),
        "disk": 0.0,
        "source_tokens": float(len(corpus.source.ids)),
        "target_tokens": float(len(corpus.target.ids)),
    }


def measured(name: str, folder: Path, arguments: argparse.Namespace) -> Measured | None:
    """In a child process, or as measured before; None where it failed, which is said."""
    record = folder / f"{name}.json"
    if not record.is_file():
        command = [sys.executable, __file__, "--data", str(arguments.data), "--child", name, str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"  {name}: failed with exit code {done.returncode}", flush=True)
            return None
        with atomic_file(record) as temporary:
            temporary.write_text(done.stdout, "utf-8")
    content: Measured = json.loads(record.read_text("utf-8"))
    return content


def report(name: str, size: int, now: Measured, before: tuple[int, Measured] | None) -> None:
    """A line of the table; what is neither near-linear nor within the memory is marked."""
    marks = ["MEMORY"] if now["peak"] > MOST_GIB else []
    growth = ""
    if before is not None:
        exponent = math.log(now["cpu"] / before[1]["cpu"]) / math.log(size / before[0])
        growth = f"{exponent:5.2f}"
        marks += ["STEEP"] if exponent > STEEPEST else []
    print(
        f"{name:<26}{size:>10,}{now['cpu']:>9.1f}{now['wall']:>9.1f}{now['cpu'] / now['wall']:>7.2f}"
        f"{now['peak']:>8.2f}{now['disk']:>9.1f}"
        f"  {growth:>6}  {' '.join(marks) or 'ok'}",
        flush=True,
    )


def warm(folder: Path, parts: Sequence[str], arguments: argparse.Namespace) -> None:
    """Compiles what the parts need, on a small corpus: the kernels' time is no part's."""
    here = folder / "warm-up"
    here.mkdir(parents=True, exist_ok=True)
    measured("corpus:2000", here, arguments)
    for name in parts:
        measured(name, here, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="PAIRS")
    parser.add_argument(
        "--only", nargs="+", default=PARTS, metavar="PART", help="and what they are built from"
    )
    parser.add_argument("--output", type=Path, help="folder to keep; default: a temporary one")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, folder = arguments.child[0], Path(arguments.child[1])
        kind, _, pairs = name.partition(":")
        result = grown(arguments.data, int(pairs), folder) if kind == "corpus" else built(name, folder)
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory(prefix="bench-resources-") as temporary:
        run(arguments.output or Path(temporary), with_needs(arguments.only), arguments)


def run(folder: Path, parts: Sequence[str], arguments: argparse.Namespace) -> None:
    warm(folder, parts, arguments)
    print(f"{'part':<26}{'pairs':>10}{'CPU s':>9}{'wall s':>9}{'cores':>7}{'GiB':>8}{'MB':>9}  growth")
    before: dict[str, tuple[int, Measured]] = {}
    for size in arguments.sizes:
        here = folder / str(size)
        here.mkdir(parents=True, exist_ok=True)
        corpus = measured(f"corpus:{size}", here, arguments)
        if corpus is None:
            return
        print(
            f"{size:,} pairs, {corpus['source_tokens']:,.0f} / {corpus['target_tokens']:,.0f} tokens",
            flush=True,
        )
        for name in parts:
            now = measured(name, here, arguments)
            if now is not None:
                report(name, size, now, before.get(name))
                before[name] = size, now


if __name__ == "__main__":
    main()
