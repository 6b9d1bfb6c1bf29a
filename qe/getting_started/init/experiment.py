"""A first experiment for a table: what the data allow, as YAML with a comment at every choice."""

import importlib.util
import os
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from features.basics.errors import InputError
from features.storage import strict_yaml
from features.storage.files import atomic_file, read_lines
from features.storage.outputs import check_output, locked_file
from qe.config.experiment import Experiment, SplitSection, from_mapping
from qe.data.dataset import Split
from qe.display.numbers import count, span
from qe.getting_started.catalogue.features import FeatureCosts
from qe.getting_started.init.table import LabelledTable, Wishes, read_labelled
from qe.resources.bundle_source import rows_of_own_corpus
from qe.resources.encoders.checked import listed
from qe.training.check import check

Folds = Literal["documents", "sources", "random"]

WITH_PARALLEL = ("baseline17", "surface", "ngram_frequency", "lm", "ibm1", "alignment")
WITH_OWN = ("baseline17", "surface", "bag_of_words")
WITHOUT_TEXT = ("surface", "bag_of_words")
_GAINS = {
    "baseline17": "the 17 of WMT12: lengths, language models, frequencies, lexicon",
    "surface": "characters, numbers, brackets, quotes; needs no resources",
    "ngram_frequency": "how common the n-grams of both sides are",
    "lm": "language models of several orders, of both sides",
    "ibm1": "how well the words translate each other",
    "alignment": "words without a counterpart, and how far words move",
    "bag_of_words": "words that go with good and bad translations; fitted inside the folds",
}
_ENCODER = "cosines and a prediction by a sentence encoder"
_WIDTH = 108


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """What the data allow; with `own_corpus`, resources are built from a part of the table."""

    name: str
    output: Path
    table: LabelledTable
    parallel: tuple[Path, Path] | None
    pairs: int | None
    own_corpus: bool
    folds: Folds
    learned: int
    encoder: str | None = None


def experiment_text(choices: Choices) -> str:
    blocks = (_head, _dataset, _resources, _features, _split, _learner)
    return "\n".join(line for block in blocks for line in block(choices)) + "\n"


def _head(choices: Choices) -> list[str]:
    options, file = choices.table.options, _printable(choices.output.name)
    languages = f"{options['source_language']}-{options['target_language']}"
    rows = f"{len(choices.table.split):,}"
    return [
        f"# A first experiment, written by `qe init`: {rows} labelled segments, {languages}.",
        "#",
        f"#   qe train {file} --check      shows what would be run",
        f"#   qe train {file}              trains, and reports figures with intervals",
        "#",
        *_comment("docs/own-data.md has the next steps; docs/experiments.md explains every key."),
        f"name: {_flow(choices.name)}",
        f"description: {_flow(f'A first model of {choices.table.dataset.scale.name}, {languages}')}",
    ]


def _dataset(choices: Choices) -> list[str]:
    options = dict(choices.table.options)
    label, columns = options.pop("label"), dict(options.pop("columns"))
    if choices.folds == "sources":
        columns["doc_id"] = columns["source"]
    lines = [
        "format: table",
        f"path: {_path(choices.table.path, choices.output)}",
        *(f"{key}: {_flow(value)}" for key, value in options.items()),
        *_label(choices, label),
        *_comment("What is what: our name, and the header in the file. Other columns are not read."),
        f"columns: {_flow(columns)}",
        *_comment(
            "A test split, on which the final model is scored: a second table with the same headers. In "
            "place of `path`, with both files in FOLDER, and with `test: test` in `split` below:"
        ),
        "#   path: FOLDER",
        "#   splits: {train: train.tsv, test: test.tsv}",
    ]
    return ["", "dataset:", *(f"  {line}" for line in lines)]


def _label(choices: Choices, label: Any) -> list[str]:
    scores = choices.table.split.scores
    assert scores is not None
    seen = f"Values in this file: {span(scores.min(), scores.max(), 6)}."
    if label == "hter":
        what = "The label: HTER, the edit rate of the translation against its post-edit; LOWER IS BETTER. "
        return [*_comment(what + seen), "label: hter"]
    if "classes" in label:
        lower, upper = label["classes"]
        good = upper if label["higher_is_better"] else lower
        what = f"The label: two classes, {lower} (0) and {upper} (1); {good} is the good one."
        return [*_comment(what), f"label: {_flow(label)}"]
    direction = "HIGHER" if label["higher_is_better"] else "LOWER"
    text = (
        f"The label: {direction} IS BETTER. {seen} EDIT: set `low` and `high` to the ends of its scale, if "
        "it has any (null: open). Predictions then stay between them, and a label outside is an error."
    )
    return [*_comment(text), f"label: {_flow(label)}"]


def _resources(choices: Choices) -> list[str]:
    if choices.parallel is not None:
        source, target = (_path(path, choices.output) for path in choices.parallel)
        text = (
            f"{choices.pairs:,} sentence pairs, from which language models, counts, lexicons and an "
            "alignment model are built on first use, and kept. They must not hold the segments of the table: "
            "features of text that a model knows look better than those of new text."
        )
        return ["", *_comment(text), "resources:", f"  source: {source}", f"  target: {target}"]
    if choices.own_corpus:
        every, lost = len(choices.table.split), len(choices.table.split) - choices.learned
        text = (
            "Every third row of the table is the corpus from which language models, counts and a lexicon are "
            "built, and is not learned from. It gains the features of `baseline17`; it costs "
            f"{lost:,} of {every:,} labels. `qe init --parallel SOURCE TARGET` loses none."
        )
        return ["", *_comment(text), "resources: {optional: true}"]
    text = (
        "No parallel text was given: the features below need none, and all labels are learned from. "
        "`qe init --parallel SOURCE TARGET` adds language models, a lexicon and word alignment. "
        "`qe init --own-corpus` makes a corpus of a third of the rows, which is then not learned from: "
        "where that was measured, it cost more than it gained (docs/init.md)."
    )
    return ["", *_comment(text)]


def _features(choices: Choices) -> list[str]:
    without: tuple[str, ...] = WITH_OWN if choices.own_corpus else WITHOUT_TEXT
    names = without if choices.parallel is None else WITH_PARALLEL
    costs = FeatureCosts.load().families
    width = max(map(len, names))
    lines = [f"  - {name:<{width}}  # {count(costs[name])} us: {_GAINS[name]}" for name in names]
    if choices.parallel is not None and choices.table.split.post_edit is not None:
        cost = count(costs["word_quality"])
        lines.append(f"  # - word_quality  # {cost} us: which words the post-edits would change")
    if choices.encoder is None:
        remedy = "`qe encoders make multilingual-e5-small` brings one"
        lines.append(f"  # - {{kind: encoder, model: NAME}}  # {remedy}: {_ENCODER}")
    else:
        model = _flow(choices.encoder)
        lines.append(f"  - {{kind: encoder, model: {model}}}  # some 30,000 us: {_ENCODER}")
    text = (
        "Families, with microseconds (us) of processor time per segment; `qe features list` has all of them."
    )
    return ["", *_comment(text), "features:", *lines]


def _split(choices: Choices) -> list[str]:
    by, why = {
        "documents": ("document", "whole documents are held out"),
        "sources": ("document", "all translations of a source are held out together (doc_id is the source)"),
        "random": ("random", "rows are held out at random, which is right if neighbours are unrelated"),
    }[choices.folds]
    text = (
        f"Cross-validation: {why}. `outer: 5` adds nested cross-validation: figures that the search for "
        "parameters does not flatter, at about five times the time."
    )
    folds = SplitSection.model_fields["folds"].default
    return ["", *_comment(text), f"split: {{folds: {folds}, by: {by}, seed: 0}}"]


def _learner(choices: Choices) -> list[str]:
    learner, objective, metric = "lightgbm", "mae", "mae"
    why = "Boosted trees; the time of an SVR grows with the square of the rows (docs/init.md)."
    note = "mae asks for the value, spearman for the order."
    guard: list[str] = []
    if "classes" in choices.table.options["label"]:
        learner, objective, metric = "logistic", "auc", "mcc"
        why = "Logistic regression: scores are probabilities, the middle parts the classes best."
        note = "mcc (Matthews correlation), f1 or auc."
    elif choices.learned <= MOST_OF_SVR:
        learner = "svr_rbf"
        why = "Support vector regression: the least absolute error up to 2,000 rows (docs/init.md)."
        clipped = (
            "Perturbed rows with the worst label, added to what the learner sees, and features cut at "
            "what 3 % of the rows have below and above: with few rows both keep rubbish from good scores "
            "(docs/results/robustness.md)."
        )
        guard = [*_comment(clipped), "negatives: {share: 0.05}", "clip: 0.03"]
    return [
        "",
        *_comment(why),
        f"learner: {{kind: {learner}}}",
        *_comment("A trial fits one model per fold; the best of all trials is trained on all rows."),
        f"search: {{trials: 25, objective: {objective}}}",
        *guard,
        "",
        *_comment(f"What orders models that wait for promotion: {note}"),
        f"evaluation: {{metric: {metric}}}",
        f"tracking: {{model_name: {_flow('qe-' + choices.name)}}}",
    ]


def _flow(value: Any) -> str:
    options: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": float("inf")}
    # In a list: a bare value would end with `...`.
    texts = [str(yaml.safe_dump([value], allow_unicode=unicode, **options)) for unicode in (True, False)]
    return next(filter(str.isprintable, (text.strip()[1:-1] for text in texts)))


def _path(path: Path, output: Path) -> str:
    relative = os.path.relpath(path.parent.resolve() / path.name, output.parent.resolve())
    if any("\ud800" <= letter <= "\udfff" for letter in relative) or "{" in relative:
        raise InputError(
            "an experiment cannot hold this name", location=path, remedy="rename it: no braces, and UTF-8"
        )
    return _flow(Path(relative).as_posix())


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        _printable(text), _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


# Steps to a better model, with what the experiment without any has.
PARALLEL = "parallel text, by --parallel SOURCE TARGET (Pearson correlation on MLQE-PE: ro-en 0.62 -> 0.67)"
ENCODER = (
    "a sentence encoder, by qe encoders make multilingual-e5-small and qe init again "
    "(Pearson correlation on MLQE-PE: ro-en 0.62 -> 0.72, en-de 0.10 -> 0.12)"
)
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
    steps: tuple[str, ...]

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
            "steps": list(self.steps),
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
        own_corpus=own_corpus, folds=_folds(learned), learned=len(learned), encoder=encoder,
    )  # fmt: skip
    text = experiment_text(choices)
    with locked_file(output):  # paths lead through the output's folder, so that it must be there
        experiment = from_mapping(strict_yaml.parse(text, output), output.parent, location=output)
        check(experiment)
        with atomic_file(output) as temporary:
            temporary.write_text(text, "utf-8", newline="")
    note = (
        f"your encoder '{encoder}' is used, some 30 ms a segment: it compares source and translation, "
        "and predicts the label from their vectors; delete its line to do without"
    )
    notes = table.notes if encoder is None else (*table.notes, note)
    with_encoder = encoder is None and "classes" not in table.options["label"]
    steps = [ENCODER] * with_encoder + [PARALLEL] * (parallel is None)
    return Beginning(output, experiment, table, notes, tuple(steps))


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
        problem = f"has {lengths[0]:,} lines, but {target} has {lengths[1]:,}"
        raise InputError(problem, location=source, remedy="line i of both files must be the same sentence")
    if not lengths[0]:
        raise InputError("the file is empty", location=source, remedy="give one sentence per line")
    return lengths[0]
