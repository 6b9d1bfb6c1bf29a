"""Annotators: figures on held-out parts of treebanks, and the speed of annotation.

python benchmarks/studies/annotation_treebanks.py  # every task whose treebank is there
python benchmarks/studies/annotation_treebanks.py --only es-pos en-constituents
python benchmarks/studies/annotation_treebanks.py --fold 3 --sentences 400  # another part, fewer \\
    sentences of it

Every treebank is divided into blocks of 100 sentences in their order; of eight blocks one is held out, the
others train. `--fold` says which. Figures are those of `qe annotate evaluate`: words as the treebank has
them, tags by the annotator below, not from the treebank; EVALB's rules, conlleval's definition.
 On data of one's own: `qe annotate train`, then `qe annotate evaluate --gold FILE`.

`--speed` annotates sentences of the English-Spanish corpus with annotators of whole treebanks, and says what
its 315,831 pairs would take at that rate on the cores of this machine (CPU seconds by cores). It trains them,
unless `--annotators` names a folder with those of each language in a folder of its own (`en`, `es`).
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from features.storage.files import read_lines
from features.text.tokenizer import Tokenizer
from qe_treebanks import annotator_folder as _folder
from qe_treebanks.annotator_folder import AnnotatorFolder
from qe_treebanks.annotators._grammar import read_trees

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CORPUS = 315_831
BLOCK, FOLDS = 100, 8


@dataclass(frozen=True)
class Case:
    """A task in a language: training data, and which figure of `evaluate` must reach what."""

    task: str
    language: str
    file: str
    figure: tuple[str, str]
    goal: float

    @property
    def name(self) -> str:
        return f"{self.language}-{self.task}"


CASES = (
    Case("pos", "en", "en_ewt-train.conllu.gz", ("words", "upos"), 0.93),
    Case("pos", "es", "es_ancora-train.conllu.gz", ("words", "upos"), 0.95),
    Case("dependencies", "en", "en_ewt-train.conllu.gz", ("words", "las"), 0.78),
    Case("dependencies", "es", "es_ancora-train.conllu.gz", ("words", "las"), 0.78),
    Case("constituents", "en", "en_ptb-sample-train.mrg.gz", ("brackets", "f1"), 0.72),
    Case("constituents", "es", "es_cess-train.tbf.gz", ("brackets", "f1"), 0.70),
    Case("entities", "es", "es_conll2002-train.gz", ("entities", "f1"), 0.72),
)


def items(case: Case) -> list[str]:
    """The sentences of a treebank, each as text of the file's kind."""
    path = DATA / "treebanks" / case.file
    if case.task == "constituents":
        return [f"{tree}\n" for tree in read_trees(path)[0]]
    return list(blocks(path))


def blocks(path: Path) -> Iterator[str]:
    lines: list[str] = []
    for line in read_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines) + "\n\n"
            lines = []
    if lines:
        yield "\n".join(lines) + "\n\n"


def measure(case: Case, fold: int, most: int | None, folder: Path) -> None:
    sentences = items(case)
    held_out = [s for i, s in enumerate(sentences) if i // BLOCK % FOLDS == fold][:most]
    train = [s for i, s in enumerate(sentences) if i // BLOCK % FOLDS != fold]
    files = {name: folder / f"{case.name}.{name}" for name in ("train", "gold")}
    for name, some in (("train", train), ("gold", held_out)):
        files[name].write_text("".join(some), "utf-8")
    output, begin = folder / case.name, time.process_time()
    for task in ("pos", case.task) if case.task == "dependencies" else (case.task,):
        _folder.train(task, [files["train"]], case.language, output, {})
    trained = time.process_time()
    figures = AnnotatorFolder(output).evaluate(case.task, [files["gold"]])
    value = figures[case.figure[0]][case.figure[1]]
    verdict = "reached" if value >= case.goal else "MISSED"
    print(
        f"{case.name}: {len(train)} sentences train, {len(held_out)} held out; {case.figure[1]} {value:.4f} "
        f"(goal {case.goal}, {verdict}); CPU {trained - begin:.0f} s to train, "
        f"{time.process_time() - trained:.0f} s to evaluate",
        flush=True,
    )
    print(json.dumps(figures), flush=True)


def annotator(case: Case, folder: Path, trained: Path | None) -> AnnotatorFolder:
    """Annotator of the task alone and of the tasks that it needs."""
    needed = ("pos", case.task) if case.task == "dependencies" else (case.task,)
    if trained is not None:
        return replace(AnnotatorFolder(trained / case.language), chosen=frozenset(needed))
    output = folder / f"speed-{case.name}"
    for task in needed:
        _folder.train(task, [DATA / "treebanks" / case.file], case.language, output, {})
    return AnnotatorFolder(output)


def speed(sentences: int, folder: Path, tasks: Sequence[str], trained: Path | None) -> None:
    cores = os.cpu_count() or 1
    for language, ending in (("en", "en"), ("es", "es")):
        lines = list(islice(read_lines(DATA / "parallel" / "en-es" / f"train.{ending}.gz"), 100_000))
        sample = lines[:: max(1, len(lines) // sentences)][:sentences]
        words = Tokenizer(language).tokens(sample)
        texts = [words.words(i) for i in range(len(words))]
        for case in (c for c in CASES if c.language == language and c.task in tasks):
            outcome = annotator(case, folder, trained)
            list(outcome.annotate(texts[:40]))
            begin, wall = time.process_time(), time.monotonic()
            list(outcome.annotate(texts))
            cpu = time.process_time() - begin
            whole = cpu / len(texts) * CORPUS / cores / 60
            print(
                f"{case.name}: {len(texts)} sentences, {len(words.ids) / len(texts):.1f} tokens each: "
                f"{1000 * cpu / len(texts):.2f} CPU ms a sentence, "
                f"{len(words.ids) / cpu:.0f} tokens a CPU second; {CORPUS} sentences: {whole:.1f} minutes on "
                f"{cores} cores (wall here: {time.monotonic() - wall:.1f} s)",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--fold", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=None)
    parser.add_argument(
        "--speed", nargs="*", metavar="TASK", help="tasks whose speed is measured, not figures"
    )
    parser.add_argument("--annotators", type=Path, help="trained ones, for --speed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.speed is not None:
            tasks = arguments.speed or [case.task for case in CASES]
            speed(arguments.sentences or 2000, Path(folder), tasks, arguments.annotators)
            return
        for case in CASES:
            if case.name in arguments.only:
                if not (DATA / "treebanks" / case.file).is_file():
                    print(f"{case.name}: {case.file} is not there")
                    continue
                measure(case, arguments.fold, arguments.sentences, Path(folder))


if __name__ == "__main__":
    main()
