"""A folder of annotators of one language: a manifest with checksums, and a folder per task."""

import json
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import cores, side_by_side
from features.storage.checksums import checksums, verify
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory, atomic_file, digest
from features.storage.outputs import locked_folder
from features.text.annotation import Layer
from features.text.languages import language_code
from features.text.tokenizer import batches
from features.text.tokens import Tokens
from qe_treebanks.annotator import ANNOTATORS, Annotator, Batch, Files, Settings

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
        annotators = self.annotators
        for blocks in side_by_side(lambda chunk: self._blocks(chunk, annotators), chunks):
            yield from blocks

    def _blocks(self, texts: Sequence[Sequence[str]], annotators: Sequence[Annotator]) -> list[str]:
        batch = Batch(Tokens.from_lists(texts), self.language)
        for annotator in annotators:
            annotator.annotate(batch)
        return batch.blocks()

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
    _check_folder(output, language)
    for file in files:
        if not file.is_file():
            raise InputError("no such file", location=file, remedy=f"give {kind.treebank}")
    with locked_folder(output, "annotate", inputs=files, earlier_files=[MANIFEST]):
        annotator = kind.train(files, language, {**kind.defaults, **settings}, progress)
        with atomic_directory(output / task) as temporary:
            annotator.save(temporary)
        with atomic_file(output / MANIFEST) as temporary:
            content = _with_task(output, language, task, annotator)
            temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    return annotator


def _with_task(output: Path, language: str, task: str, annotator: Annotator) -> dict[str, Any]:
    is_new = not (output / MANIFEST).is_file()
    none: dict[str, Any] = {"format": _FORMAT, "language": language, "tasks": {}}
    content = none if is_new else read_manifest(output)
    files = checksums(output / task)
    content["tasks"][task] = {"settings": dict(annotator.settings), "files": files}
    return content


def _check_folder(output: Path, language: str) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    there = read_manifest(output)["language"]
    if there != language:
        problem = f"holds annotators of '{there}', not of '{language}'"
        raise InputError(problem, location=output, remedy="choose another folder")


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
