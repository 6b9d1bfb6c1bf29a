"""The resources an experiment names: a built bundle, or one built from its corpus on first use and cached."""

import os
from collections.abc import Sequence
from pathlib import Path

from features.core import bundle as bundles
from features.core.bundle import Bundle
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.files import digest, sha256
from features.core.progress import Progress
from features.core.segments import Segments
from features.core.tokenizer import Tokenizer
from qe.experiment import ResourcesSection


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
) -> Bundle | None:
    """The bundle with the parts that the features need; None where they need none.

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
    tokenizers = segments.source_tokenizer, segments.target_tokenizer
    if section.bundle is not None:
        found = Bundle(section.bundle)
        check_tokenizers(found, tokenizers)
        for part in parts:
            found.part(part)
        return found
    if section.source is None or section.target is None:
        raise InputError("`resources` needs both source and target, or a bundle", where="resources")
    return from_corpus(section.source, section.target, tokenizers, parts, cache, progress)


def from_corpus(
    source: Path,
    target: Path,
    tokenizers: tuple[Tokenizer, Tokenizer],
    parts: Sequence[str],
    cache: Path,
    progress: Progress,
) -> Bundle:
    """The cached bundle of a corpus, with the parts asked for; what is missing is built."""
    for path in (source, target):
        if not path.is_file():
            raise InputError("no such file", where=path, remedy="check resources: and --data-root")
    # Already tokenized data (kind whitespace) still wants its corpus tokenized.
    left, right = (
        Tokenizer(t.language, "moses", t.normalise) if t.kind == "whitespace" else t for t in tokenizers
    )
    provenance = {
        "source": sha256(source),
        "target": sha256(target),
        "tokenizers": [left.settings(), right.settings()],
    }
    directory = cache / "resources" / digest(sorted((k, repr(v)) for k, v in provenance.items()))
    return bundles.build(
        lambda: ParallelCorpus.read(source, target, left, right, progress=progress),
        directory,
        parts,
        provenance=provenance,
        progress=progress,
    )


def check_tokenizers(bundle: Bundle, tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    """Resources and segments must speak of the same tokens."""
    for side, built, wanted in zip(("source", "target"), bundle.tokenizers, tokenizers, strict=True):
        if wanted.kind != "whitespace" and built != wanted:
            raise InputError(
                f"the {side} side was tokenized with {built}, but the segments with {wanted}",
                where=bundle.path,
                remedy="build the resources with the same language and tokenizer",
            )
