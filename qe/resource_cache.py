"""The resources an experiment names: a built bundle, or one built from its corpus on first use and cached."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.core import bundle as bundles
from features.core.bundle import Bundle, Makers, with_needs
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.files import digest, sha256
from features.core.progress import Progress
from features.core.segments import Segments
from features.core.tokenizer import Tokenizer
from qe.corpus_alignment import Alignments
from qe.corpus_annotation import Annotations, annotations_of, from_column
from qe.experiment import ResourcesSection
from qe.monolingual import Monolingual
from qe.resource_files import PartFiles
from qe.resource_inputs import Inputs

Tokenizers = tuple[Tokenizer, Tokenizer]

OWN_CORPUS = (
    "no parallel corpus was there: resources were built from the sources and translations of {} training "
    "segments, which were not learned from"
)


def default_cache() -> Path:
    """The user's cache folder for this project (QE_CACHE_DIR, XDG_CACHE_HOME, ~/.cache)."""
    given = os.environ.get("QE_CACHE_DIR")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "qe"


def resources_for(
    section: ResourcesSection | None,
    segments: Segments,
    parts: Sequence[str],
    cache: Path,
    progress: Progress,
    programs: Mapping[str, str] | None = None,
) -> Bundle | None:
    """The bundle with the parts that the features need; None where they need none.

    `programs` (side -> annotator) tag the corpus where parts need it and the section names no files. Where
    the section is `optional` and its corpus is not there, the segments themselves are the corpus.

    Raises InputError where parts are needed and none are named, or a bundle was made with other tokenizers.
    """
    if not parts:
        return None
    if section is None:
        raise InputError(
            f"the features need the resources {', '.join(parts)}",
            where="resources",
            remedy="name a parallel corpus (source, target) or a bundle built by `qe resources build`",
        )
    tokenizers = _corpus_tokenizers((segments.source_tokenizer, segments.target_tokenizer))
    if section.bundle is not None:
        found = Bundle(section.bundle)
        if found.tokenizers != (segments.source_tokenizer, segments.target_tokenizer):
            _check_tokenizers(found, tokenizers)
        for part in parts:
            found.part(part)
        return found
    if section.source is None or section.target is None:
        raise InputError("`resources` needs both source and target, or a bundle", where="resources")
    inputs = Inputs(
        Alignments(None if corpus_absent(section) else section.alignments),
        Monolingual.of(section.source_monolingual, section.target_monolingual),
        PartFiles(section.read),
        section.settings,
    )
    if corpus_absent(section):
        return _own_bundle(segments, tokenizers, parts, cache, progress, inputs)
    provenance = _provenance(section.source, section.target, tokenizers)
    annotations = _annotations({**(programs or {}), **section.annotations()}, tokenizers, parts)
    directory = _directory(cache, {**provenance, **inputs.key(inputs.makers(annotations))})
    return _build(
        section.source, section.target, tokenizers, provenance, directory, parts, progress, annotations,
        inputs,
    )  # fmt: skip


def sides_to_annotate(parts: Sequence[str]) -> list[str]:
    """The sides of the corpus whose annotation these parts, or what they are built from, need."""
    needed = with_needs(parts)
    return [side for side in ("source", "target") if f"{side}_annotation" in needed]


def _annotations(
    given: Mapping[str, str | Path], tokenizers: Tokenizers, parts: Sequence[str]
) -> Annotations:
    """What is given, of the sides that need one: no other program must be there."""
    return annotations_of({k: given[k] for k in sides_to_annotate(parts) if k in given}, tokenizers)


def corpus_absent(section: ResourcesSection | None) -> bool:
    """Whether an optional corpus (both of its files) is not there."""
    if section is None or not section.optional or section.bundle is not None:
        return False
    return not any(path is not None and path.exists() for path in (section.source, section.target))


def rows_of_own_corpus(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The training rows to learn from, and every third, whose text is the corpus.

    Apart, because language models and lexicons know the text they were built from: features of rows that are
    in them look better than those of any new segment (on MLQE-PE ro-en, Pearson .23 instead of .73).

    >>> [rows.tolist() for rows in rows_of_own_corpus(7)]
    [[0, 1, 3, 4, 6], [2, 5]]
    """
    rows = np.arange(n)
    return rows[rows % 3 != 2], rows[rows % 3 == 2]


def _own_bundle(
    segments: Segments,
    tokenizers: Tokenizers,
    parts: Sequence[str],
    cache: Path,
    progress: Progress,
    inputs: Inputs,
) -> Bundle:
    """Resources from the sources and translations of the task."""
    lines = list(zip(segments.source, segments.target, strict=True))
    provenance = {
        "segments": digest(*("\x1f".join(line) for line in lines)),
        "tokenizers": [tokenizer.settings() for tokenizer in tokenizers],
    }

    def read() -> ParallelCorpus:
        return ParallelCorpus.from_lines(lines, *tokenizers, total=len(lines), progress=progress)

    columns = {"source": segments.annotation_source, "target": segments.annotation_target}
    annotations = Annotations({k: from_column(v) for k, v in columns.items() if v is not None})
    makers = inputs.makers(annotations)
    return bundles.build(
        read,
        _directory(cache, {**provenance, **inputs.key(makers)}),
        parts,
        provenance=provenance,
        progress=progress,
        makers=makers,
        wanted=inputs.wanted(annotations),
        settings=inputs.checked_settings(makers),
    )


def _directory(cache: Path, provenance: Mapping[str, Any]) -> Path:
    return cache / "resources" / digest(sorted((k, repr(v)) for k, v in provenance.items()))


def build_bundle(
    source: Path,
    target: Path,
    languages: tuple[str, str],
    tokenizer: Any,
    directory: Path,
    parts: Sequence[str],
    progress: Progress,
    makers: Makers | None = None,
    annotations: Mapping[str, str | Path] | None = None,
    inputs: Inputs | None = None,
) -> Bundle:
    """A bundle in a folder of the user's choice; parts that are there are kept.

    `makers` build the parts of their kinds on another engine.
    `annotations`: side -> name of an annotator, or CoNLL-U file.
    `inputs`: what else parts are built from, and their settings.

    Raises InputError for corpora that cannot be used, a folder with resources of another corpus, and inputs
    that none of the parts takes.
    """
    tokenizers = Tokenizer(languages[0], tokenizer), Tokenizer(languages[1], tokenizer)
    provenance = _provenance(source, target, tokenizers)
    found, more = _annotations(annotations or {}, tokenizers, parts), inputs or Inputs()
    more.check_used(parts, more.makers(found, makers))
    return _build(source, target, tokenizers, provenance, directory, parts, progress, found, more, makers)


def _build(
    source: Path,
    target: Path,
    tokenizers: Tokenizers,
    provenance: Mapping[str, Any],
    directory: Path,
    parts: Sequence[str],
    progress: Progress,
    annotations: Annotations,
    inputs: Inputs,
    engine: Makers | None = None,
) -> Bundle:
    def read() -> ParallelCorpus:
        return ParallelCorpus.read(source, target, *tokenizers, progress=progress)

    makers = inputs.makers(annotations, engine)
    return bundles.build(
        read,
        directory,
        parts,
        provenance=provenance,
        progress=progress,
        makers=makers,
        wanted=inputs.wanted(annotations),
        settings=inputs.checked_settings(makers),
    )


def _provenance(source: Path, target: Path, tokenizers: Tokenizers) -> dict[str, Any]:
    """What a bundle is made from: the files' checksums and the tokenizers."""
    for path in (source, target):
        if not path.is_file():
            raise InputError(
                "is a directory, not a file" if path.is_dir() else "no such file",
                where=path,
                remedy="check the path of the corpus",
            )
    return {
        "source": sha256(source),
        "target": sha256(target),
        "tokenizers": [tokenizer.settings() for tokenizer in tokenizers],
    }


def _corpus_tokenizers(tokenizers: Tokenizers) -> Tokenizers:
    """How the corpus is tokenized: as the segments; by Moses where those come tokenized (`whitespace`)."""
    left, right = (
        Tokenizer(t.language, "moses", t.normalise) if t.kind == "whitespace" else t for t in tokenizers
    )
    return left, right


def _check_tokenizers(bundle: Bundle, tokenizers: Tokenizers) -> None:
    """Resources and segments must speak of the same tokens."""
    for side, built, wanted in zip(("source", "target"), bundle.tokenizers, tokenizers, strict=True):
        if built != wanted:
            raise InputError(
                f"the {side} side was tokenized by {built}, but the segments by {wanted}",
                where=bundle.path,
                remedy="build the resources with the same language and tokenizer",
            )
