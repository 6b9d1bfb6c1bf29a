"""Annotators of an experiment: from treebanks, or by projection from the other language."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import numpy as np

from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.resources.aligner import Aligner
from features.storage.files import atomic_file, digest, sha256
from features.text.annotation import NOTHING, OUTSIDE, layer_tokens, spans
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens
from qe.config.experiment import Experiment, TreebankSection
from qe.language.taggers import ADDED, Tagger, annotated, for_corpora, tagger
from qe.resources.corpora import corpus_of
from qe_treebanks.annotator_folder import ANNOTATORS, MANIFEST, read_manifest, train

Link = tuple[int, int]
HELD_OUT: Final = 25  # one sentence in so many is held out


@dataclass(frozen=True)
class Projected:
    sentences: int
    entities: int
    skipped: int


def write_projected(
    path: Path, words: Tokens, tags: Tokens, links: Links, held_out_path: Path | None = None
) -> Projected:
    """Writes the texts `words` as CoNLL 2002, with the entities of their translations.

    tags           of the translations: `B-PER`, `I-PER`, `O`
    links          from `words` (source) to the translations (target); the intersection has the fewest errors
    held_out_path  file for every 25th sentence, left out of `path`

    A sentence is skipped if an entity has no clear place in it (`projected`), or if it is empty. Raises
    InputError for links outside the texts, and if no sentence is left.

    Source: Yarowsky, Ngai and Wicentowski 2001, "Inducing multilingual text analysis tools via robust
    projection across aligned corpora", section 5; sentences skipped as in Ehrmann, Turchi and Steinberger
    2011.
    """
    links.check(words.lengths, tags.lengths, "links")
    sentences = entities = 0
    with ExitStack() as stack:
        parts = [stack.enter_context(atomic_file(file)) for file in (path, held_out_path) if file is not None]
        files = [stack.enter_context(part.open("w", encoding="utf-8")) for part in parts]
        for k in range(len(words)):
            text, (first, last) = words.words(k), links.offsets[k : k + 2].tolist()
            pairs = np.column_stack([links.source[first:last], links.target[first:last]]).tolist()
            made = projected(len(text), tags.words(k), pairs) if text else None
            if made is None:
                continue
            sentences, entities = sentences + 1, entities + len(spans(made))
            file = files[-1] if sentences % HELD_OUT == 0 else files[0]
            file.writelines(f"{word} {tag}\n" for word, tag in zip(text, made, strict=True))
            file.write("\n")
        if not sentences:
            raise InputError("no sentence has a place for the entities of its translation")
    return Projected(sentences, entities, len(words) - sentences)


def projected(length: int, tags: Sequence[str], links: Sequence[Link]) -> list[str] | None:
    """Tags of a text of `length` words from those of its translation, or None if a place is unclear.

    links  (place in the text, place in the translation)

    An entity extends from the first to the last word linked to one of its words. Its place is unclear if
    there is no such word, or if a word between is linked outside the entity.
    """
    made = [OUTSIDE] * length
    for start, end, kind in spans(tags):
        places = [i for i, j in links if start <= j < end]
        if not places:
            return None
        first, last = min(places), max(places)
        if any(first <= i <= last and not start <= j < end for i, j in links):
            return None
        made[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return made


def project_entities(
    corpus: ParallelCorpus, aligner: Aligner, annotator: Tagger, language: str, path: Path, pairs: int,
    held_out_path: Path | None = None, progress: Progress = silent,
) -> Projected:  # fmt: skip
    """Writes the side of the corpus that is not in `language`, with the entities of its translations.

    Links are the intersection of the aligner's directions, of the first `pairs`; see `write_projected`.
    Raises InputError for a language that neither side has, and for an annotator without entities.
    """
    source, target = corpus.source_tokenizer.language, corpus.target_tokenizer.language
    if language not in (source, target):
        raise InputError(
            f"the annotator is of '{language}', but the corpus of '{source}' and '{target}'",
            remedy="give an annotator of one of the two languages",
        )
    corpus = corpus.take(np.arange(min(pairs, len(corpus))))
    words, tokens = corpus.source, corpus.target
    if language == source:
        words, tokens = tokens, words
    blocks = annotated(tokens, for_corpora(annotator, ("entity",)), None, progress=progress)
    tags = layer_tokens(blocks, tokens, "entity", "what the annotator says")
    if NOTHING in tags.types:
        raise InputError("the annotator says nothing of entities", remedy="train one: --task entities")
    links = aligner.align(corpus.source, corpus.target, "intersection", progress=progress)
    if language == source:
        links = Links(links.offsets, links.target, links.source)
    return write_projected(path, words, tags, links, held_out_path)


_TRAINERS = 1  # version of the trainers; a change retrains all annotators

Aligned = Callable[[], Bundle]  # returns a bundle with the corpus and the part `aligner`


def annotators_for(
    experiment: Experiment,
    languages: Mapping[str, str],
    cache: Path,
    progress: Progress = silent,
    aligned: Aligned | None = None,
) -> dict[str, str]:
    """Side -> annotator trained from its treebanks, in the form for `qe.language.taggers.tagger`.

    Raises InputError, with file and line, for an unusable treebank.
    """
    learned = _Learned(experiment, languages, cache, progress, aligned)
    return {
        str(side): learned.annotator_name(str(side))
        for side, by in experiment.annotations.items()
        if not isinstance(by, str)
    }


@dataclass(frozen=True)
class _Learned:
    experiment: Experiment
    languages: Mapping[str, str]
    cache: Path
    progress: Progress
    aligned: Aligned | None

    def annotator_name(self, side: str) -> str:
        programs = dict.fromkeys(name for section in self._sections(side) for name in section.programs)
        return "+".join([str(self._folder(side)), *programs])

    def _sections(self, side: str) -> Sequence[TreebankSection]:
        by = self.experiment.annotations[side]  # type: ignore[index]
        return () if isinstance(by, str) else by

    def _language(self, side: str) -> str:
        return self.languages.get(side, self.languages["target"])

    def _folder(self, side: str) -> Path:
        pairs = [(task, section) for section in self._sections(side) for task in section.tasks]
        pairs.sort(key=lambda pair: (len(ANNOTATORS.get(pair[0]).needs), pair[0]))
        treebanks = [(task, section, self._treebank(section)) for task, section in pairs]
        tasks = (
            (task, sha256(treebank), json.dumps(section.settings.get(task, {}), sort_keys=True))
            for task, section, treebank in treebanks
        )
        folder = self.cache / "annotators" / digest("annotators", _TRAINERS, self._language(side), *tasks)
        for task, section, treebank in treebanks:
            there = read_manifest(folder)["tasks"] if (folder / MANIFEST).is_file() else {}
            if task not in there:
                settings = section.settings.get(task, {})
                train(task, [treebank], self._language(side), folder, settings, self.progress)
        return folder

    def _treebank(self, section: TreebankSection) -> Path:
        if section.treebank is not None:
            return section.treebank
        assert section.projected is not None and self.aligned is not None  # both are checked before
        folder = self._folder(section.projected)
        bundle = self.aligned()
        parts = [folder.name, section.pairs, bundle.manifest["parts"]["aligner"]]
        path = self.cache / "annotators" / f"entities-{digest(*parts)}.conll"
        if not path.is_file():
            language = self._language(section.projected)
            by = tagger(str(folder), language, language, texts_per_process=2000)
            aligner = cast(Aligner, bundle.part("aligner"))
            corpus = corpus_of(bundle)
            project_entities(corpus, aligner, by, language, path, section.pairs, progress=self.progress)
        return path


def mistakes(experiment: Experiment) -> Iterator[str]:
    yield from projection_mistakes(experiment)
    for side, by in experiment.annotations.items():
        if not isinstance(by, str):
            yield from treebank_mistakes(by, f"annotations.{side}")


def treebank_mistakes(sections: Sequence[TreebankSection], place: str) -> Iterator[str]:
    tasks = [task for section in sections for task in section.tasks]
    for task in sorted({task for task in tasks if tasks.count(task) > 1}):
        yield f"{place}: the task '{task}' has several treebanks; name it once"
    for number, section in enumerate(sections):
        inside = f"{place}.{number}"
        if (section.treebank is None) == (section.projected is None):
            yield f"{inside}: name one of `treebank` and `projected`"
        if section.treebank is not None and not section.treebank.is_file():
            yield f"{inside}.treebank: no such file: {section.treebank}; check it, or --data-root"
        for task in section.tasks:
            if task not in ANNOTATORS.names:
                yield f"{inside}.tasks: {unknown_name('task', task, ANNOTATORS.names)}"
                continue
            for need in ANNOTATORS.get(task).needs:
                if need not in tasks:
                    yield f"{inside}.tasks: '{task}' needs the task '{need}', which no treebank has"
        for task, values in section.settings.items():
            if task not in section.tasks:
                yield f"{inside}.settings: {unknown_name('task', task, section.tasks)}"
            elif task in ANNOTATORS.names:
                known = ANNOTATORS.get(task).defaults
                wrong = [unknown_name("setting", name, known) for name in values if name not in known]
                yield from (f"{inside}.settings.{task}: {error}" for error in wrong)
        for name in section.programs:
            if name not in ADDED:
                yield f"{inside}.programs: {unknown_name('program', name, ADDED)}"


def projection_mistakes(experiment: Experiment) -> Iterator[str]:
    for side, by in experiment.annotations.items():
        for number, section in enumerate(() if isinstance(by, str) else by):
            if section.projected is None:
                continue
            place, other = f"annotations.{side}.{number}", section.projected
            if section.tasks != ["entities"]:
                yield f"{place}.tasks: what is projected are entities; say `tasks: entities`"
            by_other = experiment.annotations.get(other, ())
            sections = () if isinstance(by_other, str) else by_other
            taught = any("entities" in one.tasks and one.treebank is not None for one in sections)
            if not taught or (side == "source") == (other == "source"):
                yield f"{place}.projected: the {other} side has no treebank of entities in another language"
            if experiment.resources is None:
                yield f"{place}.projected: needs a parallel corpus; name one in `resources`"
