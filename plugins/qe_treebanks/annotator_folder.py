"""Annotators trained from treebanks: the tasks, a folder of them, and jobs that annotate files."""

import gzip
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.assignments import assigned
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.basics.threads import cores, side_by_side
from features.storage.checksums import checksums, verify
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory, atomic_file, digest, read_lines, sha256
from features.storage.outputs import check_output, locked_file, locked_folder
from features.text.annotation import NOTHING, Layer
from features.text.languages import language_code
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import Tokens
from qe.language.taggers import Tagger
from qe_treebanks.hashed_features import Hashes, attributes

Files = Sequence[Path]
Settings = Mapping[str, int]


@dataclass(eq=False)
class Batch:
    """Tokenized texts, and the layers that annotators have added, one value per token.

    heads     (n_tokens,) place of the head in its text, from 0; -1: root; None: not parsed
    comments  (n,) lines of every text's block, without `# `
    """

    tokens: Tokens
    language: str
    layers: dict[Layer, Tokens] = field(default_factory=dict)
    heads: NDArray[np.int32] | None = None
    comments: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.comments = self.comments or [[] for _ in range(len(self.tokens))]

    @cached_property
    def treebank_tokens(self) -> Tokens:
        """Tokens as written in treebanks of the language."""
        return as_in_treebanks(self.tokens, self.language)

    @cached_property
    def attributes(self) -> Hashes:
        return attributes(self.treebank_tokens.types)

    def add(self, layer: Layer, names: Sequence[str], ids: NDArray[np.int32]) -> None:
        self.layers[layer] = Tokens(tuple(names), ids, self.tokens.offsets)

    def blocks(self) -> list[str]:
        heads = None if self.heads is None else [str(head + 1) for head in self.heads.tolist()]
        blocks = []
        for i, (low, high) in enumerate(pairwise(self.tokens.offsets.tolist())):
            none = [NOTHING] * (high - low)
            layers = [self.layers[layer].words(i) if layer in self.layers else none for layer in _ORDER]
            columns = [self.tokens.words(i), *layers, none if heads is None else heads[low:high]]
            lines = [f"# {comment}" for comment in self.comments[i]]
            for k, (word, le, up, xp, fe, de, en, he) in enumerate(zip(*columns, strict=True), start=1):
                entity = en if en == NOTHING else f"NER={en}"
                lines.append("\t".join((str(k), word, le, up, xp, fe, he, de, "_", entity)))
            blocks.append("\n".join(lines))
        return blocks


_ORDER: tuple[Layer, ...] = ("lemma", "upos", "xpos", "feats", "deprel", "entity")


def as_in_treebanks(tokens: Tokens, language: str) -> Tokens:
    """The same number of tokens, with English negations split as in the Penn Treebank.

    >>> tokens = Tokens.from_lists([["I", "don", "'t"], ["can", "'T", "in", "it"]])
    >>> shown = as_in_treebanks(tokens, "en")
    >>> shown.words(0), shown.words(1)
    (['I', 'do', "n't"], ['ca', "n'T", 'in', 'it'])
    """
    if language != "en" or not len(tokens.ids):
        return tokens
    ends = np.array([t.lower() == "'t" for t in tokens.types], bool)
    before = np.array([len(t) > 1 and t[-1] in "nN" for t in tokens.types], bool)
    pairs = before[tokens.ids[:-1]] & ends[tokens.ids[1:]]
    pairs &= tokens.text_index[:-1] == tokens.text_index[1:]
    places = np.flatnonzero(pairs)
    if not len(places):
        return tokens
    index = {t: i for i, t in enumerate(tokens.types)}
    ids = tokens.ids.copy()
    for place in places.tolist():
        first, second = tokens.types[ids[place]], tokens.types[tokens.ids[place + 1]]
        ids[place] = index.setdefault(first[:-1], len(index))
        ids[place + 1] = index.setdefault(first[-1] + second, len(index))
    return Tokens(tuple(index), ids, tokens.offsets)


class Annotator(ABC):
    """Adds layers to batches; its module's name is its task.

    Attributes
    ----------
    needs : tuple of str
        Tasks whose layers it reads.
    adds : tuple of Layer
        Layers that it adds to a batch.
    treebank : str
        Format of its training files.
    defaults : mapping of str to int
        Settings of `train` with their defaults.
    settings : mapping of str to Any
        Settings used in training, as JSON values.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    adds: ClassVar[tuple[Layer, ...]] = ()
    treebank: ClassVar[str]
    defaults: ClassVar[Mapping[str, int]]
    settings: Mapping[str, Any]

    @classmethod
    @abstractmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        """Trains on annotated files; raises InputError, with file and line, for invalid content."""

    @abstractmethod
    def annotate(self, batch: Batch) -> None:
        """Adds its layers."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes JSON and .npy files to the existing empty directory `path`."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> Self:
        """Loads the output of `save`; fails for invalid content, which `damage_reported` tells."""

    @classmethod
    @abstractmethod
    def evaluate(cls, gold: Files, language: str, annotators: "Sequence[Annotator]") -> dict[str, Any]:
        """Accuracy figures (JSON values) of `annotators` on the words of annotated files."""


ANNOTATORS: Catalogue[Annotator] = Catalogue("qe_treebanks.annotators", Annotator, "task")


def parse_settings(task: str, arguments: Sequence[str]) -> dict[str, int]:
    """Settings of a task from `NAME=NUMBER`; raises InputError for unknown names, and values below 0.

    >>> parse_settings("constituents", ["n_best=20"])
    {'n_best': 20}
    """
    known = list(ANNOTATORS.get(task).defaults)
    result = {}
    for setting in arguments:
        name, value = assigned(setting, "key=value", "--set")
        if name not in known:
            raise unknown_name(f"setting of '{task}'", name, known, location="--set")
        if not value.isascii() or not value.isdigit():
            raise InputError(f"{name} must be a whole number from 0, but is {value!r}", location="--set")
        result[name] = int(value)
    return result


def annotated(texts: Sequence[Sequence[str]], language: str, annotators: Sequence[Annotator]) -> Batch:
    batch = Batch(Tokens.from_lists(texts), language)
    for annotator in annotators:
        annotator.annotate(batch)
    return batch


def indexed(names: Iterable[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Distinct names, and the index (n,) of each name.

    >>> indexed(["b", "a", "b"])[0]
    ('b', 'a')
    """
    index: dict[str, int] = {}
    ids = [index.setdefault(name, len(index)) for name in names]
    return tuple(index), np.array(ids, np.int32)


MANIFEST: Final = "annotators.json"
_FORMAT: Final = 1
_TEXTS: Final = 500  # texts per batch, which a thread holds in memory
_REMEDY: Final = "train them again, or copy the whole folder again"


@dataclass(frozen=True, eq=False)
class AnnotatorFolder:
    """The annotators in the folder `path`, run in order as one annotator of texts in one language.

    The folder contains no code, only JSON and .npy arrays, whose checksums are in the manifest; each
    annotator also checks sizes, types and indices.

    Raises InputError if the manifest is missing or damaged, and on loading if files differ from the manifest.
    """

    path: Path
    selected_tasks: frozenset[str] | None = None  # tasks to run, with the tasks they need; None: all

    def for_layers(self, layers: Collection[Layer]) -> "AnnotatorFolder":
        """Restricted to tasks that add these layers, or unchanged if none does."""
        tasks = [task for task in self.tasks if set(layers) & set(ANNOTATORS.get(task).adds)]
        needed = {need for task in tasks for need in (task, *ANNOTATORS.get(task).needs)}
        return replace(self, selected_tasks=frozenset(needed) or None)

    @property
    def language(self) -> str:
        return str(self._manifest["language"])

    @property
    def tasks(self) -> tuple[str, ...]:
        order = _in_order(self._manifest["tasks"], self.path)
        return tuple(task for task in order if self.selected_tasks is None or task in self.selected_tasks)

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return read_manifest(self.path)

    @cached_property
    def annotators(self) -> tuple[Annotator, ...]:
        return tuple(self._load(task) for task in self.tasks)

    def _load(self, task: str) -> Annotator:
        folder = self.path / task
        with damage_reported("the annotator", folder, _REMEDY):
            verify(folder, self._manifest["tasks"][task]["files"])
            return ANNOTATORS.get(task).load(folder)

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yields one CoNLL-U block per text, in order, using all cores."""
        chunks = list(batches(texts, max(1, min(_TEXTS, -(-len(texts) // cores())))))
        annotators, language = self.annotators, self.language
        for batch in side_by_side(lambda chunk: annotated(chunk, language, annotators).blocks(), chunks):
            yield from batch

    def evaluate(self, task: str, gold: Files) -> dict[str, Any]:
        """Accuracy of a task on annotated files; raises InputError for a missing task."""
        kind = ANNOTATORS.get(task)
        if task not in self.tasks:
            known = f"there are: {', '.join(self.tasks)}"
            raise InputError(f"no annotator of '{task}' here", location=self.path, remedy=known)
        needed = {task, *kind.needs}
        used = [self._load(name) for name in self.tasks if name in needed]
        return kind.evaluate(gold, self.language, used)

    @property
    def fingerprint(self) -> str:
        tasks = self._manifest["tasks"]
        files = ((task, sorted(tasks[task]["files"].items())) for task in sorted(self.tasks))
        return digest("annotators", _FORMAT, self.language, *files)


def read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not file.is_file():
        raise InputError(
            f"no {MANIFEST} here", location=path, remedy="train annotators: qe annotate train --help"
        )
    try:
        content = json.loads(file.read_text("utf-8"))
        tasks = content["tasks"]
        sound = content["format"] == _FORMAT and isinstance(content["language"], str)
        sound &= all(
            task in ANNOTATORS.names
            and all(isinstance(v, str) and Path(k).name == k for k, v in about["files"].items())
            for task, about in tasks.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise InputError(
            "is no manifest of annotators that this version reads", location=file, remedy=_REMEDY
        )
    return dict(content)


def train(
    task: str, files: Files, language: str, output: Path, settings: Settings, progress: Progress = silent
) -> Annotator:
    """Trains the annotator of a task into the folder `output`, next to annotators of other tasks.

    settings  those that differ from the task's defaults

    Raises InputError for an unknown task, a file that cannot be read, or a folder of another language or with
    other content.
    """
    language = language_code(language)
    kind = ANNOTATORS.get(task)
    manifest: dict[str, Any] = {"format": _FORMAT, "language": language, "tasks": {}}
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        manifest = read_manifest(output)
    if manifest["language"] != language:
        problem = f"holds annotators of '{manifest['language']}', not of '{language}'"
        raise InputError(problem, location=output, remedy="choose another folder")
    for file in files:
        if not file.is_file():
            raise InputError("no such file", location=file, remedy=f"give {kind.treebank}")
    with locked_folder(output, "annotate", inputs=files, earlier_files=[MANIFEST]):
        annotator = kind.train(files, language, {**kind.defaults, **settings}, progress)
        with atomic_directory(output / task) as temporary:
            annotator.save(temporary)
        if (output / MANIFEST).is_file():  # as it is now: another task may have been trained meanwhile
            manifest = read_manifest(output)
        entry = {"settings": dict(annotator.settings), "files": checksums(output / task)}
        manifest["tasks"][task] = entry
        with atomic_file(output / MANIFEST) as temporary:
            temporary.write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return annotator


def export(path: Path, target: Path) -> None:
    shutil.copytree(path, target, copy_function=shutil.copyfile, dirs_exist_ok=True)


def _in_order(tasks: Sequence[str], path: Path) -> tuple[str, ...]:
    order: list[str] = []
    for task in sorted(tasks, key=lambda task: (len(ANNOTATORS.get(task).needs), task)):
        for need in ANNOTATORS.get(task).needs:
            if need not in tasks:
                raise InputError(
                    f"the task '{task}' needs '{need}'",
                    location=path,
                    remedy=f"train it into the same folder: qe annotate train --task {need} ...",
                )
        order.append(task)
    return tuple(order)


CHUNK: Final = 5000  # lines per chunk
EMPTY: Final = "# no tokens"  # block of an empty line


@dataclass(frozen=True)
class AnnotatedFile:
    lines: int
    tokens: int
    resumed: int


def annotate_file(
    source: Path,
    output: Path,
    annotator: Tagger,
    tokenizer: Tokenizer,
    *,
    chunk: int = CHUNK,
    progress: Progress = silent,
) -> AnnotatedFile:
    """Writes the CoNLL-U of every line of `source` to `output` (`.gz`: compressed).

    Finished chunks are stored in `OUTPUT.partial/`; the same command resumes after the last, with the same
    bytes.

    Raises InputError for files that cannot be read or written, and if `output` is the source, or another
    process writes it.
    """
    check_output(output, [source])
    with locked_file(output):
        return _annotated(source, output, annotator, tokenizer, chunk, progress)


def _annotated(
    source: Path, output: Path, annotator: Tagger, tokenizer: Tokenizer, chunk: int, progress: Progress
) -> AnnotatedFile:
    folder = output.with_name(output.name + ".partial")
    key = digest("annotation", 1, annotator.fingerprint, sha256(source), tokenizer.settings(), chunk)
    job = folder / "job.json"
    if not (job.is_file() and json.loads(job.read_text("utf-8")) == key):
        if folder.exists() and not job.is_file() and any(folder.iterdir()):
            raise InputError("is in the way: it holds no annotation job", location=folder, remedy="remove it")
        if folder.exists():
            shutil.rmtree(folder)
        with atomic_file(job) as temporary:
            temporary.write_text(json.dumps(key), "utf-8")
    lines = tokens = resumed = 0
    parts: list[Path] = []
    for number, texts in enumerate(batches(read_lines(source), chunk)):
        part = folder / f"{number:06d}.conllu"
        words = tokenizer.tokens(texts)
        if part.is_file():
            resumed += 1
        else:
            blocks = annotator.annotate([words.words(i) for i in range(len(words))])
            with atomic_file(part) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
                for block in blocks:
                    stream.write((block or EMPTY) + "\n\n")
        parts.append(part)
        lines, tokens = lines + len(texts), tokens + len(words.ids)
        progress("annotating (segments)", lines, None)
    with atomic_file(output) as temporary, temporary.open("wb") as raw:
        packed: Any = nullcontext(raw)
        if output.suffix == ".gz":
            packed = gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6)
        with packed as joined:
            for part in parts:
                joined.write(part.read_bytes())
    shutil.rmtree(folder)
    return AnnotatedFile(lines, tokens, resumed)
