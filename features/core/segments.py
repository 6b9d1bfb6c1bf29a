"""Segments: a columnar batch of translated segments; never holds a label."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError, unknown_name
from features.basics.short_repr import short_repr
from features.storage.files import digest
from features.text.annotation import Annotated
from features.text.tokenizer import Tokenizer, composed
from features.text.tokens import Tokens

Texts = tuple[str, ...]

# Column -> where it comes from, for those that lack it.
_ORIGINS: Final[Mapping[str, str]] = {
    **{
        name: f"make it with `translations: {{{name}: apertium}}`, or by `qe data translate`"
        for name in ("pseudo_reference", "back_translation")
    },
    **{
        f"annotation_{side}": f"make it with `annotations: {{{side}: apertium}}`, or give CoNLL-U"
        for side in ("source", "target", "pseudo_reference")
    },
    "alignment": "make it by `qe align`, or use the aligner of the resources",
    **{
        name: "it is output of the translation system: give it with the data"
        for name in (
            *("subwords", "token_log_probabilities", "model_score", "nbest"),
            *("token_entropies", "token_highest_log_probabilities"),
        )
    },
}


_TEXTS: Final = ("source", "target", "pseudo_reference", "back_translation")


@short_repr
@dataclass(frozen=True, eq=False)
class Segments:
    """n segments as columns of strings, immutable.

    Tokens are computed once per column and shared. Texts are kept in Unicode's composed form (NFC).

    Every column has n entries; an optional column is None if the data lacks it. `alignment` is Pharaoh text
    (`0-0 1-2`); annotations are one CoNLL-U block or bracketed parse each; `subwords` /
    `token_log_probabilities` are space-separated system output and natural logarithms (the latter with one
    more entry: end of sentence), as are `token_entropies` and `token_highest_log_probabilities`, those of all
    subwords at each step; `model_score` a number per segment as text; `nbest` one JSON list per segment;
    `language_pair` such as `en-de`, of data in several languages (tokenizers of `mul`). `further` holds
    columns of the user's table that features read by name; a value that is missing is an empty text.

    Raises InputError if columns differ in length or ids repeat.
    """

    source: Texts
    target: Texts
    source_tokenizer: Tokenizer = field(default_factory=Tokenizer)
    target_tokenizer: Tokenizer = field(default_factory=Tokenizer)
    id: Texts = ()
    doc_id: Texts | None = None
    system: Texts | None = None
    pseudo_reference: Texts | None = None
    back_translation: Texts | None = None
    alignment: Texts | None = None
    annotation_source: Texts | None = None
    annotation_target: Texts | None = None
    annotation_pseudo_reference: Texts | None = None
    subwords: Texts | None = None
    token_log_probabilities: Texts | None = None
    token_entropies: Texts | None = None
    token_highest_log_probabilities: Texts | None = None
    model_score: Texts | None = None
    nbest: Texts | None = None
    language_pair: Texts | None = None
    further: Mapping[str, Texts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", tuple(str(i) for i in range(1, len(self.source) + 1)))
        for name in _TEXTS:
            if (texts := getattr(self, name)) is not None:
                object.__setattr__(self, name, tuple(map(composed, texts)))
        for name, column in self.columns():
            if len(column) != len(self.source):
                raise InputError(
                    f"columns must have equal length, but source has {len(self.source)} "
                    f"and {name} {len(column)}"
                )
        if len(set(self.id)) != len(self.id):
            seen: set[str] = set()
            twice = next(i for i in self.id if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise InputError(f"segment ids must be unique, but '{twice}' occurs twice")

    def columns(self) -> Iterator[tuple[str, Texts]]:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, tuple):
                yield entry.name, value
        yield from self.further.items()

    @classmethod
    def column_names(cls) -> tuple[str, ...]:
        """All column names, source and target first, but those of `further`."""
        return tuple(f.name for f in fields(cls) if "tokenizer" not in f.name and f.name != "further")

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[str]],
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
    ) -> "Segments":
        """From any mapping of columns; those that Segments has no field for are `further` ones."""
        known = {name: tuple(columns[name]) for name in cls.column_names() if name in columns}
        return cls(
            source_tokenizer=source_tokenizer or Tokenizer(),
            target_tokenizer=target_tokenizer or Tokenizer(),
            further={name: tuple(column) for name, column in columns.items() if name not in known},
            **known,
        )

    @classmethod
    def concatenate(cls, batches: Sequence["Segments"]) -> "Segments":
        """Batches one after the other; an optional column stays only where every batch has it, and values of
        `further` are missing where a batch lacks the column. Raises InputError if tokenizers differ or an id
        occurs twice.
        """
        first = batches[0]
        tokenizers = (first.source_tokenizer, first.target_tokenizer)
        if any((b.source_tokenizer, b.target_tokenizer) != tokenizers for b in batches):
            raise InputError("batches of segments with different tokenizers cannot be joined")
        found = [dict(batch.columns()) for batch in batches]
        further = dict.fromkeys(name for batch in batches for name in batch.further)
        shared = [*set.intersection(*map(set, found)).difference(further), *further]
        parts = [{name: each.get(name, ("",) * len(each["source"])) for name in shared} for each in found]
        columns = {name: sum((part[name] for part in parts), ()) for name in shared}
        return cls.from_columns(columns, *tokenizers)

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Segments":
        """The segments at `rows`, in that order; tokens already computed are kept."""
        index = np.asarray(rows, np.int64)
        columns: dict[str, Any] = {name: tuple(column[i] for i in index) for name, column in self.columns()}
        further = {name: columns.pop(name) for name in self.further}
        taken = replace(self, **columns, further=further)
        for name in ("source_tokens", "target_tokens"):
            if name in self.__dict__:
                taken.__dict__[name] = self.__dict__[name].take(index)
        return taken

    @cached_property
    def source_tokens(self) -> Tokens:
        return self.source_tokenizer.tokens(self.source)

    @cached_property
    def target_tokens(self) -> Tokens:
        return self.target_tokenizer.tokens(self.target)

    @cached_property
    def source_annotated(self) -> Annotated:
        """Annotation of the sources; raises InputError if this batch lacks it."""
        return Annotated(self.require("annotation_source"), self.source_tokens, "annotation_source")

    @cached_property
    def target_annotated(self) -> Annotated:
        return Annotated(self.require("annotation_target"), self.target_tokens, "annotation_target")

    @cached_property
    def pseudo_reference_tokens(self) -> Tokens:
        return self.target_tokenizer.tokens(self.require("pseudo_reference"))

    @cached_property
    def back_translation_tokens(self) -> Tokens:
        return self.source_tokenizer.tokens(self.require("back_translation"))

    def require(self, name: str) -> Texts:
        """The column `name`; raises InputError if this batch lacks it."""
        column = dict(self.columns()).get(name)
        if column is None:
            there = ", ".join(n for n, _ in self.columns())
            origin = _ORIGINS.get(name, "give it with the data")
            raise InputError(
                f"the segments have no column '{name}'", remedy=f"{origin} (columns given: {there})"
            )
        return tuple(column)

    @cached_property
    def fingerprint(self) -> str:
        parts: list[object] = [self.source_tokenizer, self.target_tokenizer]
        for name, column in self.columns():
            parts += [name, "\x1f".join(column).encode("utf-8", "surrogatepass")]
        return digest(*parts)


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
