"""The resources that an experiment names: a built bundle, or one built on first use and cached."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress
from features.core.bundle import Bundle
from features.core.segments import Segments
from features.storage.cache_folder import default_cache as default_cache
from features.text.tokenizer import Tokenizer
from qe.config.experiment import ResourcesSection
from qe.resources.alignments import Alignments
from qe.resources.annotations import Annotations, annotations_for, from_column
from qe.resources.bundle_source import BundleSource, Inputs
from qe.resources.corpora import CorpusFiles, Monolingual, OwnText, Tokenizers
from qe.resources.files import PartFiles
from qe.resources.settings import check_section

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
