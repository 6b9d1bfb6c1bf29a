"""Inputs of a command, read from its parameters.

They are files, folders, what an experiment names, and models in MLflow.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


def inputs_of(given: Mapping[str, Any]) -> Iterator[Path]:
    """Files and folders that parameters name.

    They are alone, as in NAME=FILE,FILE, in an experiment, or in MLflow.
    """
    root = given.get("data_root")
    for text in sorted({text for value in given.values() for text in texts_of(value)}):
        yield from _model(text)
        for part in sorted({text, *re.split("[=,]", text)} - {""}):
            yield from _named(Path(part), root)
    if isinstance(given.get("encoder"), str):
        yield from _encoder(given["encoder"])


def _named(path: Path, root: Path | None) -> Iterator[Path]:
    if not _exists(path):
        return
    yield path
    if path.is_file() and _exists(summary := path.with_name(f"{path.name}.json")):
        yield summary
    if path.suffix in (".yaml", ".yml") and path.is_file():
        folder = root or path.parent
        for text in texts_of(_content_of_yaml(path)):
            place = folder / text
            if text and place != path and _exists(place):
                yield place


def _content_of_yaml(path: Path) -> Any:
    from features.basics.errors import InputError
    from features.storage.strict_yaml import read

    try:
        return read(path, "the file")
    except InputError:  # the command itself says so
        return None


def _model(text: str) -> Iterator[Path]:
    if ":/" in text:  # before much is imported
        from qe.api.models import is_uri, model_folder

        if is_uri(text):
            yield model_folder(text)[0]


def _encoder(name: str) -> Iterator[Path]:
    from features.basics.errors import InputError
    from features.encoding.places import encoder_path

    with suppress(InputError):  # the command itself says so
        yield encoder_path(name)


def content_of(path: Path, outputs: Sequence[Path]) -> str:
    """What tells a file or folder from others; outputs that lie within are no part of it."""
    from features.storage.checksums import checksum
    from features.storage.files import digest

    if path.is_file():
        return checksum(path)
    left_out = {output.resolve() for output in outputs}
    whole = [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".lock"]
    if (path / "report.json").is_file():  # a run, beside which other commands may write
        whole = [file for file in whole if _is_of_run(file.relative_to(path))]
    kept = [file for file in whole if not left_out & {file.resolve(), *file.resolve().parents}]
    return digest(*((str(file.relative_to(path)), checksum(file)) for file in kept))


def is_built(folder: Path) -> bool:
    """Whether a folder is a bundle or a model, in which nobody writes anything else."""
    return any((folder / name).is_file() for name in ("manifest.json", "model.json"))


def _is_of_run(name: Path) -> bool:
    return name.parts[0] in ("model", "report.json") or name.name.startswith("predictions")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or no name
        return False


def texts_of(value: Any) -> Iterator[str]:
    """The texts and paths in a value, however deep."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)
