"""Resumable annotation of a file: one segment per line in, one CoNLL-U block per line out."""

import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.files import atomic_file, digest, read_lines, sha256
from features.storage.outputs import check_output, locked_file
from features.text.tokenizer import Tokenizer, batches
from qe.language.programs.taggers import Tagger

CHUNK: Final = 5000  # lines per chunk
EMPTY: Final = "# no tokens"  # block of an empty line


@dataclass(frozen=True)
class AnnotatedFile:
    lines: int
    tokens: int
    resumed: int


def annotate_file(
    source: Path,
    output: Path,
    annotator: Tagger,
    tokenizer: Tokenizer,
    *,
    chunk: int = CHUNK,
    progress: Progress = silent,
) -> AnnotatedFile:
    """Writes the CoNLL-U of every line of `source` to `output` (`.gz`: compressed).

    Finished chunks are stored in `OUTPUT.partial/`; the same command resumes after the last, with the same
    bytes.

    Raises InputError for files that cannot be read or written, and if `output` is the source, or another
    process writes it.
    """
    check_output(output, [source])
    with locked_file(output):
        return _annotated(source, output, annotator, tokenizer, chunk, progress)


def _annotated(
    source: Path, output: Path, annotator: Tagger, tokenizer: Tokenizer, chunk: int, progress: Progress
) -> AnnotatedFile:
    folder = output.with_name(output.name + ".partial")
    key = digest("annotation", 1, annotator.fingerprint, sha256(source), tokenizer.settings(), chunk)
    _open(folder, key)
    lines = tokens = resumed = 0
    parts: list[Path] = []
    for number, texts in enumerate(batches(read_lines(source), chunk)):
        part = folder / f"{number:06d}.conllu"
        words = tokenizer.tokens(texts)
        if part.is_file():
            resumed += 1
        else:
            _write(part, annotator.annotate([words.words(i) for i in range(len(words))]))
        parts.append(part)
        lines, tokens = lines + len(texts), tokens + len(words.ids)
        progress("annotating (segments)", lines, None)
    _join(parts, output)
    shutil.rmtree(folder)
    return AnnotatedFile(lines, tokens, resumed)


def _open(folder: Path, key: str) -> None:
    job = folder / "job.json"
    if job.is_file() and json.loads(job.read_text("utf-8")) == key:
        return
    if folder.exists():
        if not job.is_file() and any(folder.iterdir()):
            raise InputError("is in the way: it holds no annotation job", location=folder, remedy="remove it")
        shutil.rmtree(folder)
    with atomic_file(job) as temporary:
        temporary.write_text(json.dumps(key), "utf-8")


def _write(part: Path, blocks: Iterator[str]) -> None:
    with atomic_file(part) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        for block in blocks:
            stream.write((block or EMPTY) + "\n\n")


def _join(parts: Sequence[Path], output: Path) -> None:
    with atomic_file(output) as temporary, temporary.open("wb") as raw:
        if output.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as stream:
                for part in parts:
                    stream.write(part.read_bytes())
        else:
            for part in parts:
                raw.write(part.read_bytes())
