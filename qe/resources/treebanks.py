"""Annotators that an experiment names by their treebanks: learned on first use, and kept in the cache."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from features.basics.errors import unknown_name
from features.basics.progress import Progress, silent
from features.storage.files import digest, sha256
from qe.config.experiment import Experiment, TreebankSection
from qe.language.annotator import ANNOTATORS
from qe.language.annotator_folder import MANIFEST, read_manifest, train
from qe.language.programs.taggers import ADDED

_TRAINERS = 1  # of the trainers: another number learns all annotators again


def annotators_for(
    experiment: Experiment, languages: Mapping[str, str], cache: Path, progress: Progress = silent
) -> dict[str, str]:
    """Side -> the annotator that its treebanks make, as `qe.language.programs.taggers.tagger` takes it.

    languages  of `source` and `target`; pseudo-references are in that of the target

    Raises InputError, with file and line, for a treebank that cannot be learned from.
    """
    return {
        str(side): _learned(by, languages.get(side, languages["target"]), cache, progress)
        for side, by in experiment.annotations.items()
        if not isinstance(by, str)
    }


def _learned(sections: Sequence[TreebankSection], language: str, cache: Path, progress: Progress) -> str:
    """The folder of the annotators, and what programs add. Tasks that are there already are not learned."""
    folder = cache / "annotators" / _fingerprint(sections, language)
    for task, section in _in_order(sections):
        there = read_manifest(folder)["tasks"] if (folder / MANIFEST).is_file() else {}
        if task not in there:
            train(task, [section.treebank], language, folder, section.settings.get(task, {}), progress)
    return "+".join([str(folder), *dict.fromkeys(name for section in sections for name in section.programs)])


def _fingerprint(sections: Sequence[TreebankSection], language: str) -> str:
    """Identifies what the annotators are learned from, and how."""
    tasks = (
        (task, sha256(section.treebank), json.dumps(section.settings.get(task, {}), sort_keys=True))
        for task, section in _in_order(sections)
    )
    return digest("annotators", _TRAINERS, language, *tasks)


def _in_order(sections: Sequence[TreebankSection]) -> list[tuple[str, TreebankSection]]:
    """Tasks with their treebanks, those that others need first."""
    pairs = [(task, section) for section in sections for task in section.tasks]
    return sorted(pairs, key=lambda pair: (len(ANNOTATORS.get(pair[0]).needs), pair[0]))


def treebank_mistakes(sections: Sequence[TreebankSection], place: str) -> Iterator[str]:
    """What is wrong with the treebanks of a side, a line each."""
    tasks = [task for section in sections for task in section.tasks]
    for task in sorted({task for task in tasks if tasks.count(task) > 1}):
        yield f"{place}: the task '{task}' has several treebanks; name it once"
    for number, section in enumerate(sections):
        yield from _section_mistakes(section, tasks, f"{place}.{number}")
        for name in section.programs:
            if name not in ADDED:
                yield f"{place}.{number}.programs: {unknown_name('program', name, ADDED)}"


def _section_mistakes(section: TreebankSection, tasks: Sequence[str], place: str) -> Iterator[str]:
    if not section.treebank.is_file():
        yield f"{place}.treebank: no such file: {section.treebank}; check it, or --data-root"
    for task in section.tasks:
        if task not in ANNOTATORS.names:
            yield f"{place}.tasks: {unknown_name('task', task, ANNOTATORS.names)}"
            continue
        for need in ANNOTATORS.get(task).needs:
            if need not in tasks:
                yield f"{place}.tasks: '{task}' needs the task '{need}', which no treebank has"
    for task, values in section.settings.items():
        if task not in section.tasks:
            yield f"{place}.settings: {unknown_name('task', task, section.tasks)}"
        elif task in ANNOTATORS.names:
            known = ANNOTATORS.get(task).defaults
            wrong = [unknown_name("setting", name, known) for name in values if name not in known]
            yield from (f"{place}.settings.{task}: {error}" for error in wrong)
