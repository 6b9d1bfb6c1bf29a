"""What tests of bundles share: a bundle from two files, as `qe resources build` makes it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.progress import Progress
from features.core.bundle import Builders, Bundle
from features.text.tokenizer import Tokenizer
from qe.resources.annotations import annotations_for
from qe.resources.bundle_source import BundleSource, Inputs
from qe.resources.corpora import CorpusFiles


def build_bundle(
    source: Path,
    target: Path,
    languages: tuple[str, str],
    tokenizer: Any,
    directory: Path,
    parts: Sequence[str],
    progress: Progress,
    engine: Builders | None = None,
    annotations: Mapping[str, str | Path] | None = None,
    inputs: Inputs | None = None,
) -> Bundle:
    tokenizers = Tokenizer(languages[0], tokenizer), Tokenizer(languages[1], tokenizer)
    tagged = annotations_for(parts, annotations or {}, tokenizers)
    recipe = BundleSource(CorpusFiles(source, target), tokenizers, tagged, inputs or Inputs(), engine or {})
    recipe.check_used(parts)
    return recipe.build(directory, parts, progress)
