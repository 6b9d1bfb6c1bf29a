"""Tokenizers of encoders: loading, how much their rules can lengthen a text, and errors."""

import base64
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.basics.plugins import missing
from features.encoding.encoded import EncodedText, TextEncoder
from features.storage.damage import Damaged, damage_reported

REMEDY = "export the encoder again, or copy it again"


def package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise missing(name) from None


def load_tokenizer(path: Path) -> Any:
    """A tokenizer without padding and cutting; raises InputError if the file is none."""
    tokenizers = package("tokenizers")
    with damage_reported("the tokenizer", path, REMEDY):
        tokenizer = tokenizers.Tokenizer.from_str(path.read_text("utf-8"))
    tokenizer.no_padding()
    return tokenizer


_MOST: Final = 1024  # characters that the normalizer may make of one, by its rules
_UNMEASURED: Final = 16  # up to which texts are not looked at
_MOST_PIECES: Final = 16  # ... and the steps after it
_SPARE: Final = 10_000  # characters that are added to a text once
# By type of rule. For Unicode's forms: UAX 15, section 12 (NFKC: one character becomes 18).
_NORMALIZERS: Final[Mapping[str, int]] = {
    "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 3, "BertNormalizer": 12, "ByteLevel": 4,
    "Strip": 1, "StripAccents": 1, "Nmt": 1, "Prepend": 1,
}  # fmt: skip
_PIECES: Final[Mapping[str, int]] = {"ByteLevel": 4, "Metaspace": 2}
_PARTS: Final = ("normalizers", "pretokenizers", "processors")  # of a Sequence


def growing_normalizer(tokenizer: Any) -> Callable[[str], str] | None:
    """The normalizer, if it can lengthen texts; raises Damaged for rules that make texts far too long."""
    normalizing = prod(map(_of_normalizer, _rules(tokenizer.normalizer)))
    pieces = prod(_PIECES.get(rule["type"], 1) for rule in _rules(tokenizer.pre_tokenizer))
    for template in (rule.get("single", ()) for rule in _rules(tokenizer.post_processor)):
        pieces *= max(1, sum("Sequence" in piece for piece in template)) + len(template) // _SPARE
    for stage, most, limit in (("normalizer", normalizing, _MOST), ("steps after it", pieces, _MOST_PIECES)):
        if most > limit:
            raise Damaged(f"the rules of its {stage} can make a text {most:,.0f} times as long")
    return tokenizer.normalizer.normalize_str if normalizing > _UNMEASURED else None


def _rules(part: Any) -> Sequence[Mapping[str, Any]]:
    return [] if part is None else _flat(json.loads(part.__getstate__()))


def _flat(rule: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if rule["type"] != "Sequence":
        return [rule]
    inner = next(rule[name] for name in _PARTS if name in rule)
    return [one for each in inner for one in _flat(each)]


def _of_normalizer(rule: Mapping[str, Any]) -> float:
    if rule["type"] == "Replace":
        content, pattern = len(rule["content"]), rule["pattern"]
        literal = len(pattern.get("String", ""))  # a regular expression may match between any two characters
        return max(1.0, content / literal) if literal else content + 1
    if rule["type"] == "Precompiled":
        charsmap = base64.b64decode(rule["precompiled_charsmap"])
        size = int.from_bytes(charsmap[:4], "little")
        return max(
            (len(text.decode("utf-8", "replace")) for text in charsmap[4 + size :].split(b"\0")), default=1
        )
    return _NORMALIZERS.get(rule["type"], _UNMEASURED + 1)


@dataclass(frozen=True, eq=False)
class GuardedEncoder:
    """An encoder loaded from `path`, whose errors, also at the first text, are InputErrors.

    normalize  makes the text that is tokenized, whose length is checked; None: it cannot be much longer
    """

    encoder: TextEncoder
    normalize: Callable[[str], str] | None
    path: Path

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        with guarded(self.path):
            for text in texts:
                length = 0 if self.normalize is None else len(self.normalize(text))
                if length > _UNMEASURED * len(text) + _SPARE:
                    raise InputError(
                        f"the rules of its tokenizer make {length:,} characters of a text of {len(text):,}",
                        location=self.path,
                        remedy=REMEDY,
                    )
            return self.encoder.encode(texts, prompt)


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Raises InputError for any error of the block, panics of Rust (tokenizers, safetensors) too."""
    try:
        with damage_reported("the encoder", path, REMEDY):
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise InputError("the encoder is damaged: its library panics", location=path, remedy=REMEDY) from None
