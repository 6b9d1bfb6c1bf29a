"""Translations of training segments other than the system's: label columns with text."""

from collections.abc import Sequence
from typing import Final

from features.basics.errors import unknown_name
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer

TEXTS: Final = ("post_edit", "reference")  # columns of labels that hold translations of the source


def check_texts(texts: Sequence[str]) -> None:
    """Raises InputError for a name that is no text of the training segments."""
    for name in texts:
        if name not in TEXTS:
            raise unknown_name("text", name, TEXTS)


def translated(segments: Segments, name: str, target: tuple[str, ...]) -> Segments:
    """The sources with another translation; references come as plain text."""
    tokenizer = segments.target_tokenizer
    if name == "reference" and tokenizer.kind == "whitespace":
        tokenizer = Tokenizer(tokenizer.language, "moses", tokenizer.normalise)
    columns = {"source": segments.source, "target": target}
    return Segments.from_columns(columns, segments.source_tokenizer, tokenizer)
