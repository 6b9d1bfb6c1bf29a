"""Resources of the training segments' post-edits and references: of all, and without each part's texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
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
from qe.resources.corpora import CorpusFiles, TranslatedSegments

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
    _check_plain(needed)
    texts = _texts(section, segments, labels)
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
