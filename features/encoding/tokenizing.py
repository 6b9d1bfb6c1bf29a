"""The tokenizer of an encoder: `tokenizer.json`, as the package tokenizers writes it."""

import importlib
from pathlib import Path
from typing import Any

from features.basics.packages import missing
from features.storage.damage import damage_reported

REMEDY = "export the encoder again, or copy it again"


def package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise missing(name) from None


def load_tokenizer(path: Path) -> Any:
    """Without padding; whether it cuts texts is for the encoder to say. Raises InputError if the file is no
    tokenizer.
    """
    tokenizers = package("tokenizers")
    with damage_reported("the tokenizer", path, REMEDY):
        tokenizer = tokenizers.Tokenizer.from_str(path.read_text("utf-8"))
    tokenizer.no_padding()
    return tokenizer
