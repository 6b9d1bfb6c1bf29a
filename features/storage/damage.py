"""Damage: files that are not what was saved, as one message that names them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from features.basics.errors import InputError

REBUILD = "delete this and build again (a model: train it again)"


class Damaged(ValueError):
    """Content that a check refuses, in words; `damage_reported` adds the file."""


@contextmanager
def damage_reported(noun: str, path: Path, remedy: str = REBUILD) -> Iterator[None]:
    """Raises InputError if the block, which reads `path`, fails for any reason."""
    try:
        yield
    except (InputError, ModuleNotFoundError):  # a package that is not installed is no damage
        raise
    except Exception as error:  # decoders of damaged bytes raise nearly everything
        reason = str(error) if isinstance(error, Damaged) else f"{type(error).__name__}: {error}"
        raise InputError(f"{noun} is damaged ({_short(reason)})", location=path, remedy=remedy) from error


def _short(reason: str) -> str:
    line = "".join(character if character.isprintable() else " " for character in reason)
    return line if len(line) <= 300 else f"{line[:300]}..."


def read_json(noun: str, path: Path, remedy: str = REBUILD) -> dict[str, Any]:
    """The JSON object in a file; raises InputError if it is absent, cannot be read, or is none."""
    with damage_reported(noun, path, remedy):
        content = json.loads(path.read_text("utf-8"))
        if not isinstance(content, Mapping):
            raise Damaged(f"expected a JSON object, but got {type(content).__name__}")
        return dict(content)
