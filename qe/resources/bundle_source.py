"""BundleSource: what a bundle is built from; the bundles of experiments, built on first use and cached."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core import bundle as bundles
from features.core.bundle import Builders, Bundle, known_parts, with_needs
from features.core.out_of_fold import Parts
from features.core.resource import Resource, kind_of
from features.core.segments import Segments, translated
from features.resources.word_vectors import WordVectors
from features.storage.cache_folder import cache_entry
from features.storage.cache_folder import default_cache as default_cache
from features.storage.files import digest
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
from qe.config.experiment import ResourcesSection
from qe.resources.corpora import (
    Alignments,
    Corpus,
    CorpusFiles,
    Monolingual,
    OwnText,
    Tokenizers,
    TranslatedSegments,
)
from qe.resources.part_inputs import Annotations, PartFiles, annotated_sides, annotations_for, from_column
from qe.resources.settings import PartSettings, check_section, checked


@dataclass(frozen=True)
class Inputs:
    """Links of the corpus, further text, files that parts are read from, and settings of parts."""

    alignments: Alignments = field(default_factory=lambda: Alignments(None))
    monolingual: Monolingual = field(default_factory=lambda: Monolingual({}))
    files: PartFiles = field(default_factory=lambda: PartFiles({}))
    settings: PartSettings = field(default_factory=dict)

    @property
    def requested(self) -> list[str]:
        """The parts that have settings or a file of their own."""
        return [*self.files.files, *self.settings]

    def builders(self, annotations: Annotations, engine: Builders) -> Builders:
        builders: Builders = {**annotations.builders(), **self.alignments.builders(), **engine}
        return {**builders, **self.monolingual.builders(builders), **self.files.builders()}

    def wanted(self, annotations: Annotations) -> Mapping[str, Mapping[str, Any]]:
        """The settings that the built parts must have; a part read from a file has no further text."""
        without_text = {name: {"monolingual": None} for name in self.files.files}
        inputs = (annotations.wanted, self.alignments.wanted, self.monolingual.wanted, self.files.wanted)
        wanted: dict[str, dict[str, Any]] = {}
        for settings_of in (*inputs, without_text):
            for name, settings in settings_of.items():
                wanted.setdefault(name, {}).update(settings)
        return wanted

    def key(self, builders: Builders) -> dict[str, Any]:
        """Cache key of the extra inputs; empty for the corpus alone."""
        everything = {
            "alignments": self.alignments.fingerprint,
            "monolingual": sorted(self.monolingual.fingerprints.items()),
            "read": sorted(self.files.fingerprints.items()),
            "settings": sorted((k, sorted(v.items())) for k, v in checked(self.settings, builders).items()),
        }
        return {name: value for name, value in everything.items() if value}

    def check_used(self, parts: Sequence[str], builders: Builders) -> None:
        self.alignments.check_used(parts)
        needed = with_needs(parts, builders)
        for name in (*self.files.files, *checked(self.settings, builders)):
            if name not in needed:
                raise InputError(
                    f"the part '{name}' is not among those to be built, but has settings or a file",
                    remedy=f"add --only {name}, or --all",
                )
        self.monolingual.check_used([name for name in needed if name not in self.files.files])


@dataclass(frozen=True, eq=False)
class BundleSource:
    """What a bundle is built from; `engine` (by kind) builds parts elsewhere, such as on Spark."""

    corpus: Corpus
    tokenizers: Tokenizers
    annotations: Annotations = field(default_factory=Annotations)
    inputs: Inputs = field(default_factory=Inputs)
    engine: Builders = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        tokenizers = [tokenizer.settings() for tokenizer in self.tokenizers]
        return {**self.corpus.provenance, "tokenizers": tokenizers}

    @property
    def fingerprint(self) -> str:
        """Identifies corpus, tokenizers, inputs and settings."""
        content = {**self.provenance, **self.inputs.key(self._builders())}
        return digest(sorted((k, repr(v)) for k, v in content.items()))

    def check_used(self, parts: Sequence[str]) -> None:
        self.inputs.check_used(parts, self._builders())

    def build(self, directory: Path, parts: Sequence[str], progress: Progress = silent) -> Bundle:
        """The bundle in `directory`; parts that are there as wanted are kept."""
        builders = self._builders()
        return bundles.build(
            partial(self.corpus.read, self.tokenizers, progress),
            directory,
            parts,
            provenance=self.provenance,
            progress=progress,
            builders=builders,
            wanted=self.inputs.wanted(self.annotations),
            settings=checked(self.inputs.settings, builders),
        )

    def cached(self, cache: Path, parts: Sequence[str], progress: Progress = silent) -> Bundle:
        return self.build(cache_entry(cache, "resources", self.fingerprint), parts, progress)

    def _builders(self) -> Builders:
        return self.inputs.builders(self.annotations, self.engine)


Build = Callable[[Sequence[str], Progress], Bundle]  # parts, progress


@dataclass
class _Watched:
    progress: Progress
    part: str = field(default="", init=False)

    def __call__(self, stage: str, completed: int, total: int | None) -> None:
        if stage.startswith("building "):
            self.part = stage.removeprefix("building ")
        self.progress(stage, completed, total)


def build_possible(
    build: Build, parts: Sequence[str], progress: Progress, requested: Collection[str] = ()
) -> tuple[Bundle, Mapping[str, InputError]]:
    """A bundle with all of the parts that can be built, and for each other part the reason.

    A part is left out if the corpus is unsuitable (too few pairs, no words), or a package is absent, and with
    it all that is built from it. Raises InputError for faults of files (errors with a location), if no part
    was begun, and for a part that was `requested` by name.
    """
    wanted, left_out = list(parts), dict[str, InputError]()
    while True:
        watched = _Watched(progress)
        try:
            return build(wanted, watched), left_out
        except InputError as error:
            lost = [name for name in wanted if watched.part and watched.part in with_needs([name])]
            if not lost or error.location is not None:
                raise
            if watched.part in requested:
                problem = f"the part '{watched.part}' cannot be built: {error.problem}"
                raise InputError(problem, remedy=error.remedy) from None
            left_out |= dict.fromkeys(lost, error)
            wanted = [name for name in wanted if name not in lost]


OWN_CORPUS = (
    "no parallel corpus was there: resources were built from the sources and translations of {} training "
    "segments, which were not learned from"
)


def resources_for(
    section: ResourcesSection | None,
    segments: Segments,
    parts: Sequence[str],
    cache: Path,
    progress: Progress,
    programs: Mapping[str, str] | None = None,
) -> Bundle | None:
    """The bundle with the parts that the features need; None if they need none."""
    check_section(section, parts)
    if section is None or not parts:
        return None
    tokenizers = corpus_tokenizers((segments.source_tokenizer, segments.target_tokenizer))
    if section.bundle is not None:
        bundle = Bundle(section.bundle)
        if bundle.tokenizers != (segments.source_tokenizer, segments.target_tokenizer):
            _check_tokenizers(bundle, tokenizers)
        for part in parts:
            bundle.part(part)
        return bundle
    inputs = inputs_of(section)
    if section.source is None or section.target is None or corpus_absent(section):
        pairs = list(zip(segments.source, segments.target, strict=True))
        columns = {"source": segments.annotation_source, "target": segments.annotation_target}
        sides = {side: from_column(blocks) for side, blocks in columns.items() if blocks is not None}
        source = BundleSource(OwnText(pairs), tokenizers, Annotations.alike(sides), inputs)
        return source.cached(cache, parts, progress)
    annotators: dict[str, str | Path] = {**(programs or {}), **section.annotations()}
    annotations = annotations_for(parts, annotators, tokenizers, cache)
    source = BundleSource(CorpusFiles(section.source, section.target), tokenizers, annotations, inputs)
    return source.cached(cache, parts, progress)


def inputs_of(section: ResourcesSection) -> Inputs:
    return Inputs(
        Alignments(None if corpus_absent(section) else section.alignments),
        Monolingual.from_files(section.source_monolingual, section.target_monolingual),
        PartFiles(section.read),
        section.settings,
    )


def corpus_absent(section: ResourcesSection | None) -> bool:
    if section is None or not section.optional or section.bundle is not None:
        return False
    return not any(path is not None and path.exists() for path in (section.source, section.target))


def rows_of_own_corpus(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The training rows to learn from, and every third, whose text is the corpus.

    Apart, because language models and lexicons know the text they were built from: features of rows that are
    in them look better than those of any new segment (on MLQE-PE ro-en, Pearson .23 instead of .73).
    """
    rows = np.arange(n)
    return rows[rows % 3 != 2], rows[rows % 3 == 2]


def corpus_tokenizers(tokenizers: Tokenizers) -> Tokenizers:
    """How the corpus is tokenized: as the segments, but by Moses if these come tokenized (`whitespace`)."""
    left, right = (
        Tokenizer(t.language, "moses", t.normalise) if t.kind == "whitespace" else t for t in tokenizers
    )
    return left, right


def _check_tokenizers(bundle: Bundle, tokenizers: Tokenizers) -> None:
    for side, built, wanted in zip(("source", "target"), bundle.tokenizers, tokenizers, strict=True):
        if built != wanted:
            raise InputError(
                f"the {side} side was tokenized by {built}, but the segments by {wanted}",
                location=bundle.path,
                remedy="build the resources with the same language and tokenizer",
            )


# Directions of vectors mean something only beside those of the same build: all bundles share them.
_VECTORS: Final = kind_of(WordVectors)


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """Bundles of the same parts: of all texts, and without those of the rows of part k.

    Vectors of words are the same in all of them, because sources and translations are no labels.
    """

    complete: Bundle
    parts: Parts
    held_out_bundles: tuple[Bundle, ...]


def own_texts(
    section: ResourcesSection,
    segments: Segments,
    labels: Mapping[str, Any],
    needed: Sequence[str],
    cache: Path,
    progress: Progress = silent,
) -> OwnTexts:
    """The bundles with the parts that the features need, built on first use and cached."""
    annotated = [name for name in needed if annotated_sides([name])]
    if annotated:
        raise InputError(
            f"{', '.join(annotated)}: made of an annotated corpus, which the segments' own texts are not",
            location="resources.texts",
            remedy="leave out the features that need it, or `texts`",
        )
    for name in section.texts:
        if name not in labels:
            raise InputError(
                f"the training data has no '{name}'",
                location="resources.texts",
                remedy=f"it has {', '.join(labels) or 'no labels'}",
            )
    texts = [translated(segments, name, tuple(labels[name])) for name in section.texts]
    vectors = [name for name in with_needs(needed) if known_parts()[name].kind == _VECTORS]
    readers: Builders = {}
    shared = ""
    if vectors:
        of_vectors = _source(section, [segments]).cached(cache, vectors, progress)
        shared, readers = of_vectors.path.name, {name: partial(_part, of_vectors, name) for name in vectors}
    complete = _source(section, texts, shared, readers).cached(cache, needed, progress)
    parts = Parts.from_segments(segments, section.parts)
    part, held_out = parts(segments), []
    for k in range(section.parts):
        progress("resources of own texts", k, section.parts)
        others = [text.take(np.flatnonzero(part != k)) for text in texts]
        held_out.append(_source(section, others, shared, readers).cached(cache, needed, progress))
    return OwnTexts(complete, parts, tuple(held_out))


def _source(
    section: ResourcesSection,
    texts: Sequence[Segments],
    shared: str = "",
    readers: Builders = MappingProxyType({}),
) -> BundleSource:
    general = None
    if section.source is not None and section.target is not None:
        general = CorpusFiles(section.source, section.target)
    tokenizers = corpus_tokenizers((texts[0].source_tokenizer, texts[0].target_tokenizer))
    corpus = TranslatedSegments(texts, general, shared)
    return BundleSource(corpus, tokenizers, inputs=inputs_of(section), engine=readers)


def _part(
    bundle: Bundle, name: str, corpus: ParallelCorpus, *, progress: Progress = silent, **settings: object
) -> Resource:
    return bundle.part(name)
