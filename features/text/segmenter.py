"""Segmenter: words of texts that are written without blanks."""

from abc import ABC, abstractmethod
from typing import ClassVar

from features.basics.catalogue import Catalogue


class Segmenter(ABC):
    """A program that splits text into words; subclasses are files of `features/text/segmenters`.

    package    what pip installs
    languages  what it splits
    """

    package: ClassVar[str]
    languages: ClassVar[tuple[str, ...]]

    @abstractmethod
    def words(self, text: str) -> list[str]:
        """The words of a text. Raises ModuleNotFoundError where the package is missing."""


SEGMENTERS: Catalogue[Segmenter] = Catalogue("features.text.segmenters", Segmenter, "segmenter")
