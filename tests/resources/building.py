"""What tests of bundles share: a bundle from two files, by Python, by an experiment or by its command."""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from features import Bundle, Segments, Tokenizer
from features.basics.progress import silent
from qe.config.experiment import ResourcesSection
from qe.resources.bundle_source import BundleSource, Inputs, resources_for
from qe.resources.corpora import CorpusFiles
from qe.resources.part_inputs import annotations_for

PAIR = Tokenizer("en"), Tokenizer("es")
TASK = Segments.from_columns({"source": ["a"], "target": ["b"]}, *PAIR)


def write_lines(path: Path, lines: Iterable[str], *, gzipped: bool = False) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if gzipped else content)
    return path


def build_bundle(
    folder: Path,
    parts: Sequence[str],
    inputs: Inputs | None = None,
    annotations: Mapping[str, str | Path] | None = None,
    *,
    output: str = "b",
    tokenizer: Any = "moses",
) -> Bundle:
    """From the files `s` and `t` of the folder."""
    tokenizers = Tokenizer("en", tokenizer), Tokenizer("es", tokenizer)
    tagged = annotations_for(parts, annotations or {}, tokenizers)
    recipe = BundleSource(CorpusFiles(folder / "s", folder / "t"), tokenizers, tagged, inputs or Inputs(), {})
    recipe.check_used(parts)
    return recipe.build(folder / output, parts, silent)


def build_times(folder: Path, parts: Iterable[str]) -> list[int]:
    """When each part was built: equal if it was kept."""
    return [(folder / "b" / part / "meta.json").stat().st_mtime_ns for part in parts]


def write_experiment(folder: Path, resources: str) -> Path:
    path = folder / "e.yaml"
    path.write_text(
        f"name: e\ndataset: {{format: wmt12, path: d, pair: en-es}}\nresources: {resources}\n"
        "features: [surface]\nlearner: {kind: ridge}\n",
        "utf-8",
    )
    return path


def task_bundle(folder: Path, section: ResourcesSection | None, part: str) -> Bundle:
    """The bundle of a task, kept in the folder's cache."""
    bundle = resources_for(section, TASK, [part], folder / "cache", silent)
    assert bundle is not None
    return bundle


def build_command(folder: Path, *more: object) -> list[object]:
    files = ["--source", folder / "s", "--target", folder / "t", "--output", folder / "b"]
    return ["resources", "build", *files, "--json", *more]
