"""Segments, the extractors that turn them into features, and the columns that extractors compute."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
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


_TEXT_LABELS: Final = ("post_edit", "reference")  # columns of labels that hold translations of the source


def check_texts(texts: Sequence[str]) -> None:
    """Raises InputError for a name that is no text of the training segments."""
    for name in texts:
        if name not in _TEXT_LABELS:
            raise unknown_name("text", name, _TEXT_LABELS)


def translated(segments: Segments, name: str, target: tuple[str, ...]) -> Segments:
    """The sources with another translation; references come as plain text."""
    tokenizer = segments.target_tokenizer
    if name == "reference" and tokenizer.kind == "whitespace":
        tokenizer = Tokenizer(tokenizer.language, "moses", tokenizer.normalise)
    columns = {"source": segments.source, "target": target}
    return Segments.from_columns(columns, segments.source_tokenizer, tokenizer)


Learned = TypeVar("Learned")
# Settings by which a family has other columns of other resources, and is named and priced apart.
VARYING: Final = ("corpus", "engine", "knowledge", "units")
# Translations that a family compares: those of the rows learned from, or of `translated_corpus`.
Corpus = Literal["training", "translated"]


@dataclass(frozen=True)
class Feature:
    """One column: its stable name, one-line description, source (paper and section), unit.

    Attributes
    ----------
    plain : str
        What it is to a translator, who reads it in explanations: "words in the translation {}", with the
        value for `{}`; empty: what its extractor says.
    """

    name: str
    description: str
    origin: str
    unit: str
    plain: str = ""


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table that features read by its name. Values may be missing.

    number    whether it holds numbers; else texts
    optional  whether a table may lack it: all its values are missing then
    """

    name: str
    number: bool = True
    optional: bool = False


TableColumns = Mapping[str, TableColumn]  # by their names


class Extractor(ABC):
    """Turns segments into features; subclasses are dataclasses of parameters and resources.

    A field annotated with a Resource class is filled with the loaded part of that name from the bundle. A
    feature that is undefined for a segment is NaN; its description says when.

    Attributes
    ----------
    reads_files : bool
        Whether values come from files that its parameters name, and not from the segments: a saved model
        cannot have it.
    variants : sequence of mapping of str to Any
        Settings, out of `VARYING`, that it is listed with in addition to its defaults.
    plain : str
        What its features are about, in words of translators; `{text}` is replaced by the text (source or
        translation) that a feature has in its name. Explanations add up features of one phrase.
    """

    plain: ClassVar[str] = ""
    reads_files: ClassVar[bool] = False
    variants: ClassVar[Sequence[Mapping[str, Any]]] = ()
    renamed: ClassVar[Mapping[str, str]] = {}  # former name of a parameter -> its name

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> "type[Extractor]":
        """The class for these settings, valid or not; raises InputError if some exclude each other."""
        return cls

    @property
    @abstractmethod
    def features(self) -> Sequence[Feature]:
        """The columns, in order; never needs the segments."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """The same as `feature_names`, unless a family has a setting of this name."""
        return self.feature_names

    @abstractmethod
    def extract(self, segments: Segments) -> FloatArray:
        """(n_segments, n_features) float64."""

    def requires(self) -> tuple[str, ...]:
        """Optional columns of Segments that this extractor requires."""
        return ()

    def optional_columns(self) -> tuple[str, ...]:
        """Columns of Segments that it reads where there are any; a model needs those that its data had."""
        return ()

    def table_columns(self) -> Sequence[TableColumn]:
        """The columns of the user's table that it reads by name."""
        return ()

    @classmethod
    def completed(cls, settings: Mapping[str, Any], segments: Segments) -> Mapping[str, Any]:
        """The settings with those that the training segments decide, without their labels."""
        return settings

    def content_fingerprint(self) -> str:
        """Fingerprint of inputs other than parameters and resources, such as files that it reads itself."""
        return ""

    def checksums(self) -> Mapping[str, str]:
        """File that it reads itself -> SHA-256, for the recipe."""
        return {}


class FittedExtractor(Extractor):
    """An extractor that learns from labels.

    It is fitted inside each fold, and cross-fitted on the training rows; with `cross_fitted` False, these get
    values by the fit on all of them, which must not depend on a row's own label.
    """

    cross_fitted: ClassVar[bool] = True

    @abstractmethod
    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """A fitted copy. `labels` holds label columns (`scores`, `post_edit`, ...), one entry per segment."""

    @abstractmethod
    def labels_used(self) -> tuple[str, ...]:
        """The label columns that `fit` needs."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes what was learned into the directory `path`, without pickle."""

    @abstractmethod
    def restore(self, path: Path) -> Self:
        """A fitted copy from what `save` wrote."""

    def with_learned(self, **fields: Any) -> Self:
        """A copy with learned values, in fields that no configuration sets (`init=False`)."""
        fitted = copy(self)
        vars(fitted).update(fields)  # `dataclasses.replace` sets no such field
        return fitted

    def learned(self, value: Learned | None) -> Learned:
        """The learned value; raises InputError if it is None: the extractor is not fitted."""
        if value is None:
            name = type(self).__name__
            raise InputError(
                f"{name} must be fitted before it scores, or is saved", remedy="train a model with it"
            )
        return value


VALUE = "{}"  # where a phrase has the value of its feature
TEXTS = {"source": "source", "target": "translation"}  # how translators call the two texts


def phrase(feature: Feature, family: str) -> str:
    """The topic of a feature: its own phrase, else its family's, else its description with the value."""
    return feature.plain or (in_words(feature.name, family) if family else f"{feature.description} {VALUE}")


def in_words(name: str, family: str) -> str:
    """The family's phrase for the text that the name mentions, or the segment if it has both or neither."""
    texts = [text for side, text in TEXTS.items() if side in name]
    return family.replace("{text}", texts[0] if len(texts) == 1 else "segment")


Prepared = TypeVar("Prepared")
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Column(Generic[Prepared]):
    """A feature (name, description, source, unit) and the function that computes it.

    compute  (n,) values from the prepared batch, or a number from one prepared segment
    plain  phrase for translators (`Feature.plain`)

    >>> length = Column[list[str]]("words", "words of each text", "this project", "words", lambda texts: (
    ...     np.array([float(len(text.split())) for text in texts])))
    >>> length.feature.name, block([length], ["a house", ""]).tolist()
    ('words', [[2.0], [0.0]])
    """

    name: str
    description: str
    origin: str
    unit: str
    compute: Callable[[Prepared], NDArray[Any] | float]
    plain: str = field(default="", kw_only=True)

    @property
    def feature(self) -> Feature:
        return Feature(self.name, self.description, self.origin, self.unit, self.plain)

    def under(self, stem: str, subject: str) -> Self:
        """The same column of one of several subjects: `stem_name`, "subject: description".

        >>> Column("mean", "mean", "", "", len).under("lm_source", "source, 5-gram").feature.name
        'lm_source_mean'
        """
        return replace(self, name=f"{stem}_{self.name}", description=f"{subject}: {self.description}")

    def with_preparation(self, prepare: Callable[[Batch], Prepared]) -> "Column[Batch]":
        """The same column of a batch from which `prepare` takes this column's batch."""

        def compute(batch: Batch) -> NDArray[Any] | float:
            return self.compute(prepare(batch))

        return Column(self.name, self.description, self.origin, self.unit, compute, plain=self.plain)


def features_of(columns: Iterable[Column[Prepared]]) -> tuple[Feature, ...]:
    return tuple(column.feature for column in columns)


_OMITTED: ContextVar[Collection[str]] = ContextVar("columns left out", default=frozenset())


@contextmanager
def leaving_out(names: Collection[str]) -> Iterator[None]:
    """Features with the given names are not computed in the block: their columns are not read."""
    before = _OMITTED.set(names)
    try:
        yield
    finally:
        _OMITTED.reset(before)


def wanted(names: Iterable[str]) -> bool:
    left_out = _OMITTED.get()
    return not left_out or any(name not in left_out for name in names)


def unwanted(n: int, columns: int) -> FloatArray:
    return np.full((n, columns), np.nan)


def block(columns: Iterable[Column[Prepared]], batch: Prepared) -> FloatArray:
    """(n, columns) float64: every column of a batch, in order; NaN in those that are left out."""
    listed = list(columns)
    chosen = [i for i, column in enumerate(listed) if wanted([column.name])] or [0]
    values = np.column_stack([listed[i].compute(batch) for i in chosen]).astype(np.float64, copy=False)
    if len(chosen) == len(listed):
        return values
    whole = unwanted(len(values), len(listed))
    whole[:, chosen] = values
    return whole


ColumnGroups = Sequence[tuple[Sequence[Column[Any]], Callable[[Segments], Any]]]


class ColumnExtractor(Extractor):
    """An extractor whose features are columns, computed from a prepared batch."""

    @abstractmethod
    def column_groups(self) -> ColumnGroups:
        """Columns, and the function that prepares segments for them."""

    @property
    def features(self) -> Sequence[Feature]:
        return [column.feature for columns, _ in self.column_groups() for column in columns]

    def extract(self, segments: Segments) -> FloatArray:
        blocks = []
        for columns, prepare in self.column_groups():
            computed = wanted(column.name for column in columns)
            unneeded = unwanted(len(segments), len(columns))
            blocks.append(block(columns, prepare(segments)) if computed else unneeded)
        return np.hstack(blocks)


def without_empty(values: FloatArray, *texts: Tokens) -> FloatArray:
    """The same values, changed in place: NaN in the rows of segments with an empty text."""
    for tokens in texts:
        values[tokens.lengths == 0] = np.nan
    return values
