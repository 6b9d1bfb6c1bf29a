"""A first experiment for a table: what the data allow, and what each choice costs and gains."""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage import strict_yaml
from features.storage.files import atomic_file, read_lines
from features.storage.outputs import check_output, locked_file
from qe.config.experiment import Experiment, SplitSection, from_mapping
from qe.data.dataset import Split
from qe.display.numbers import fixed
from qe.getting_started.init.table import LabelledTable, Wishes, read_labelled
from qe.getting_started.init.text import Choices, Folds, experiment_text
from qe.resources.cache import rows_of_own_corpus
from qe.resources.encoders.checked import listed
from qe.training.check import check

# Pearson correlations of the experiment without any step, by pair of MLQE-PE.
WITHOUT = {"ro-en": 0.617, "en-de": 0.101}


@dataclass(frozen=True, eq=False)
class Step:
    """What to do, and the Pearson correlations with it, by pair of MLQE-PE."""

    command: str
    reached: Mapping[str, float]

    def __str__(self) -> str:
        pairs = self.reached.items()
        gains = (f"{pair} {fixed(WITHOUT[pair], 2)} -> {fixed(pearson, 2)}" for pair, pearson in pairs)
        return f"{self.command} (Pearson correlation on MLQE-PE: {', '.join(gains)})"


PARALLEL = Step("parallel text, by --parallel SOURCE TARGET", {"ro-en": 0.670})
ENCODER = Step(
    "a sentence encoder, by qe encoders make multilingual-e5-small and qe init again",
    {"ro-en": 0.716, "en-de": 0.122},
)


def steps(parallel: bool, encoder: bool) -> tuple[Step, ...]:
    """The steps that were not taken yet, what gained most first."""
    taken = {PARALLEL: parallel, ENCODER: encoder}
    return tuple(step for step in (ENCODER, PARALLEL) if not taken[step])


FOLDS = SplitSection.model_validate({}).folds
SMALLEST_OWN_CORPUS = 300  # rows, of which a third is the corpus
_SPLITS = ("train", "dev", "test", "blind")  # names that a run's figures and files have, too
MOST_OF_SVR = 2_000  # rows; with more, boosted trees were better and far quicker (docs/init.md)


@dataclass(frozen=True, eq=False)
class Beginning:
    """A first experiment, in a file: `notes` on what was decided, and `steps` to a better model."""

    path: Path
    experiment: Experiment
    table: LabelledTable
    notes: tuple[str, ...]
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        scale, scores = self.table.dataset.scale, self.table.split.scores
        assert scores is not None
        return {
            "experiment": str(self.path),
            "segments": len(self.table.split),
            "columns": self.table.options["columns"],
            "label": {"name": scale.name, "higher_is_better": scale.higher_is_better},
            "labels": {"low": float(scores.min()), "high": float(scores.max())},
            "notes": list(self.notes),
            "steps": [str(step) for step in self.steps],
        }


def begin(
    path: Path,
    wishes: Wishes,
    output: Path,
    *,
    name: str | None = None,
    parallel: tuple[Path, Path] | None = None,
    own_corpus: bool = False,
    overwrite: bool = False,
) -> Beginning:
    """Writes an experiment for the labelled table at `path`, which can be trained unchanged.

    name        of the experiment and its model; default: by the output's name
    parallel    two files of parallel text, one sentence per line
    own_corpus  whether a third of the rows, not learned from, takes the place of parallel text
    """
    check_output(output, [path, *(parallel or ())])
    if output.exists() and not overwrite:
        raise InputError(
            "is there already", location=output, remedy="choose another output, or add --overwrite"
        )
    if own_corpus and parallel is not None:
        raise InputError("--own-corpus and --parallel exclude each other")
    pairs = None if parallel is None else _pairs(*parallel)
    table = read_labelled(path, wishes)
    if own_corpus:
        _check_own_corpus(table)
    encoder = _encoder(table)
    split = table.split
    learned = split.take(rows_of_own_corpus(len(split))[0]) if own_corpus else split
    choices = Choices(
        name=_name(name, output, table), output=output, table=table, parallel=parallel, pairs=pairs,
        own_corpus=own_corpus, folds=_folds(learned), learned=len(learned),
        learner=_learner(table, len(learned)), encoder=encoder,
    )  # fmt: skip
    text = experiment_text(choices)
    with locked_file(output):  # paths lead through the output's folder, so that it must be there
        experiment = from_mapping(strict_yaml.parse(text, output), output.parent, location=output)
        check(experiment)
        with atomic_file(output) as temporary:
            temporary.write_text(text, "utf-8", newline="")
    notes = table.notes
    if encoder is not None:
        note = (
            f"your encoder '{encoder}' is used, some 30 ms a segment: it compares source and translation, "
            "and predicts the label from their vectors; delete its line to do without"
        )
        notes = (*notes, note)
    return Beginning(output, experiment, table, notes, steps(parallel is not None, encoder is not None))


def _name(name: str | None, output: Path, table: LabelledTable) -> str:
    if name is not None:
        return name
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", output.stem).lstrip("._-") or "first"
    taken = {*table.dataset.splits, table.dataset.scale.name, *_SPLITS}
    return f"{stem}-model" if stem in taken else stem


def _encoder(table: LabelledTable) -> str | None:
    packages = ("onnxruntime", "safetensors", "tokenizers")
    if "classes" in table.options["label"] or any(importlib.util.find_spec(p) is None for p in packages):
        return None
    return next((each["name"] for each in listed() if not each["problem"]), None)


def _learner(table: LabelledTable, rows: int) -> str:
    if "classes" in table.options["label"]:
        return "logistic"
    return "svr_rbf" if rows <= MOST_OF_SVR else "lightgbm"


def _check_own_corpus(table: LabelledTable) -> None:
    rows = len(table.split)
    repeated = rows - len({*table.split.segments.source})
    remedy = "leave --own-corpus out, or give --parallel SOURCE TARGET"
    if rows < SMALLEST_OWN_CORPUS:
        what = f"{rows} rows are too few to make a corpus of a third; {SMALLEST_OWN_CORPUS} are the least"
        raise InputError(what, location=table.path, remedy=remedy)
    if repeated:
        what = f"{repeated:,} rows have the source of an earlier row: a corpus of some would know the others"
        raise InputError(what, location=table.path, remedy=remedy)


def _folds(split: Split) -> Folds:
    documents = split.segments.doc_id
    if documents is not None and len({*documents}) >= FOLDS:
        return "documents"
    sources = {*split.segments.source}
    return "sources" if documents is None and FOLDS <= len(sources) < len(split) else "random"


def _pairs(source: Path, target: Path) -> int:
    lengths = [sum(1 for _ in read_lines(path)) for path in (source, target)]
    if lengths[0] != lengths[1]:
        raise InputError(
            f"has {lengths[0]:,} lines, but {target} has {lengths[1]:,}",
            location=source,
            remedy="line i of both files must be the same sentence",
        )
    if not lengths[0]:
        raise InputError("the file is empty", location=source, remedy="give one sentence per line")
    return lengths[0]
