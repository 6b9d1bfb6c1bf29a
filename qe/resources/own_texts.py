"""Resources of the training segments' post-edits and references.

One set is made of all of them; further sets leave out the texts of each part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, Bundle, known_parts, with_needs
from features.core.out_of_fold import Parts
from features.core.resource import Resource, kind_of
from features.core.segments import Segments, translated
from features.resources.word_vectors import WordVectors
from features.text.corpus import ParallelCorpus
from qe.config.experiment import ResourcesSection
from qe.resources.annotations import annotated_sides
from qe.resources.bundle_source import BundleSource
from qe.resources.cache import corpus_tokenizers, inputs_of
from qe.resources.corpora import Corpus, CorpusFiles, TranslatedSegments

# Directions of vectors mean something only beside those of the same build: all bundles share them.
_VECTORS: Final = kind_of(WordVectors)


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """Bundles of the same parts: of all texts, and without those of the rows of part k.

    Vectors of words are the same in all of them: of the general corpus, and of the sources and translations,
    which are no labels.
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
    """The bundles with the parts that the features need, built on first use and cached.

    Raises InputError if the labels lack a text, or a part is needed that is made of an annotated corpus.
    """
    _check_plain(needed)
    texts = _texts(section, segments, labels)
    bundles = _Bundles(section, segments, needed, cache, progress)
    parts = Parts.from_segments(segments, section.parts)
    part, without = parts(segments), []
    whole = bundles.bundle(texts)
    for k in range(section.parts):
        progress("resources of own texts", k, section.parts)
        others = np.flatnonzero(part != k)
        without.append(bundles.bundle([text.take(others) for text in texts]))
    return OwnTexts(whole, parts, tuple(without))


@dataclass(frozen=True)
class _Bundles:
    section: ResourcesSection
    segments: Segments
    needed: Sequence[str]
    cache: Path
    progress: Progress

    def bundle(self, texts: Sequence[Segments]) -> Bundle:
        shared = self._shared
        taken = "" if shared is None else shared.path.name
        builders: Builders = {}
        if shared is not None:
            builders = {name: partial(_part, shared, name) for name in self._vectors}
        corpus = TranslatedSegments(texts, self._general, taken)
        return self._source(corpus, builders).cached(self.cache, self.needed, self.progress)

    @cached_property
    def _vectors(self) -> list[str]:
        return [name for name in with_needs(self.needed) if known_parts()[name].kind == _VECTORS]

    @cached_property
    def _shared(self) -> Bundle | None:
        if not self._vectors:
            return None
        corpus = TranslatedSegments([self.segments], self._general)
        return self._source(corpus, {}).cached(self.cache, self._vectors, self.progress)

    def _source(self, corpus: Corpus, engine: Builders) -> BundleSource:
        own = self.segments.source_tokenizer, self.segments.target_tokenizer
        return BundleSource(corpus, corpus_tokenizers(own), inputs=inputs_of(self.section), engine=engine)

    @property
    def _general(self) -> Corpus | None:
        source, target = self.section.source, self.section.target
        return None if source is None or target is None else CorpusFiles(source, target)


def _part(
    bundle: Bundle, name: str, corpus: ParallelCorpus, *, progress: Progress = silent, **settings: object
) -> Resource:
    return bundle.part(name)


def _texts(section: ResourcesSection, segments: Segments, labels: Mapping[str, Any]) -> list[Segments]:
    for name in section.texts:
        if name not in labels:
            raise InputError(
                f"the training data has no '{name}'",
                location="resources.texts",
                remedy=f"it has {', '.join(labels) or 'no labels'}",
            )
    return [translated(segments, name, tuple(labels[name])) for name in section.texts]


def _check_plain(needed: Sequence[str]) -> None:
    if annotated_sides(needed):
        annotated = [name for name in needed if annotated_sides([name])]
        raise InputError(
            f"{', '.join(annotated)}: made of an annotated corpus, which the segments' own texts are not",
            location="resources.texts",
            remedy="leave out the features that need it, or `texts`",
        )
