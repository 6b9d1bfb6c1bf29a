"""Encoders whose libraries' own errors are one message that names the folder."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.encoding.encoded import EncodedText, TextEncoder
from features.encoding.growth import Growth
from features.encoding.tokenizing import REMEDY
from features.storage.damage import damage_reported


@dataclass(frozen=True, eq=False)
class GuardedEncoder:
    """An encoder loaded from `path`, with errors caught. An encoder that looks whole may fail when it reads
    the first text.
    """

    encoder: TextEncoder
    growth: Growth
    path: Path

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        with guarded(self.path):
            self.growth.check(texts, self.path)
            return self.encoder.encode(texts, prompt)


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Raises InputError for any error of the block. Panics of Rust (tokenizers, safetensors) are among
    them.
    """
    try:
        with damage_reported("the encoder", path, REMEDY):
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise InputError("the encoder is damaged: its library panics", location=path, remedy=REMEDY) from None
