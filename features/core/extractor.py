"""Extractor: names + extract(segments) -> float64 array."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, TypeVar

from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import check_parameters
from features.core.segments import Segments

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

    def __post_init__(self) -> None:
        """Raises InputError for a parameter that is not of its annotated type and range."""
        check_parameters(self, vars(self))

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


class Fitted(ABC):
    """What is learned from training segments, saved with a model and restored."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes what was learned into the directory `path`, without pickle."""

    @abstractmethod
    def restore(self, path: Path) -> Self:
        """A fitted copy with what `save` wrote."""

    def with_learned(self, **fields: Any) -> Self:
        """A copy with learned values, in fields that no configuration sets (`init=False`)."""
        fitted = copy(self)
        vars(fitted).update(fields)  # `dataclasses.replace` sets no such field
        return fitted

    def learned(self, value: Learned | None) -> Learned:
        """The learned value; raises InputError if it is None: nothing is fitted."""
        if value is None:
            name = type(self).__name__
            raise InputError(
                f"{name} must be fitted before it scores, or is saved", remedy="train a model with it"
            )
        return value


class FittedExtractor(Fitted, Extractor):
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


VALUE = "{}"  # where a phrase has the value of its feature
TEXTS = {"source": "source", "target": "translation"}  # how translators call the two texts


def phrase(feature: Feature, family: str) -> str:
    """The topic of a feature: its own phrase, else its family's, else its description with the value."""
    return feature.plain or (in_words(feature.name, family) if family else f"{feature.description} {VALUE}")


def in_words(name: str, family: str) -> str:
    """The family's phrase for the text that the name mentions, or the segment if it has both or neither."""
    texts = [text for side, text in TEXTS.items() if side in name]
    return family.replace("{text}", texts[0] if len(texts) == 1 else "segment")
