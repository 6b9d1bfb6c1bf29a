"""Inputs of a bundle in addition to its corpus, and settings of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from features.basics.errors import InputError
from features.core.bundle import Builders, with_needs
from qe.resources.alignments import Alignments
from qe.resources.annotations import Annotations
from qe.resources.files import PartFiles
from qe.resources.monolingual import Monolingual
from qe.resources.settings import PartSettings, checked


class Input(Protocol):
    """Something that parts are built from, in addition to the corpus."""

    def builders(self, fallback: Builders) -> Builders:
        """Kind or part -> the function that makes it of this input.

        Otherwise a part is made by `fallback`, which also makes the rest.
        """

    @property
    def wanted(self) -> Mapping[str, Mapping[str, Any]]:
        """Part -> the settings that it must have if it was made of this input.

        A part with others is built again.
        """


@dataclass(frozen=True)
class Inputs:
    """Links of the corpus, further text, files that parts are read from, and settings of parts."""

    alignments: Alignments = field(default_factory=lambda: Alignments(None))
    monolingual: Monolingual = field(default_factory=lambda: Monolingual({}))
    files: PartFiles = field(default_factory=lambda: PartFiles({}))
    settings: PartSettings = field(default_factory=dict)

    @property
    def requested(self) -> list[str]:
        """The parts that have settings or a file of their own."""
        return [*self.files.files, *self.settings]

    def builders(self, annotations: Annotations, engine: Builders) -> Builders:
        """How `features.core.bundle.build` makes parts; `engine` makes those of its kinds elsewhere."""
        builders: Builders = {}
        corpus: tuple[Input, ...] = (annotations, self.alignments)
        for given in corpus:
            builders = {**builders, **given.builders(builders)}
        builders = {**builders, **engine}
        beside: tuple[Input, ...] = (self.monolingual, self.files)
        for given in beside:
            builders = {**builders, **given.builders(builders)}
        return builders

    def wanted(self, annotations: Annotations) -> Mapping[str, Mapping[str, Any]]:
        """The settings that the built parts must have.

        A part that is read from a file has no further text.
        """
        inputs: tuple[Input, ...] = (annotations, self.alignments, self.monolingual, self.files)
        wanted: dict[str, dict[str, Any]] = {}
        for settings_of in (*(given.wanted for given in inputs), self._without_text):
            for name, settings in settings_of.items():
                wanted[name] = {**wanted.get(name, {}), **settings}
        return wanted

    @property
    def _without_text(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: {"monolingual": None} for name in self.files.files}

    def checked_settings(self, builders: Builders) -> dict[str, dict[str, Any]]:
        """The settings that differ from what parts have anyway; raises InputError as `checked` does."""
        return checked(self.settings, builders)

    def key(self, builders: Builders) -> dict[str, Any]:
        """Cache key of the extra inputs; empty for the corpus alone.

        Other inputs mean another folder: experiments must not rebuild each other's parts.
        """
        everything = {
            "alignments": self.alignments.fingerprint,
            "monolingual": sorted(self.monolingual.fingerprints.items()),
            "read": sorted(self.files.fingerprints.items()),
            "settings": sorted((k, sorted(v.items())) for k, v in self.checked_settings(builders).items()),
        }
        return {name: value for name, value in everything.items() if value}

    def check_used(self, parts: Sequence[str], builders: Builders) -> None:
        """Raises InputError for inputs that neither the parts nor their sources take."""
        self.alignments.check_used(parts)
        needed = with_needs(parts, builders)
        for name in (*self.files.files, *self.checked_settings(builders)):
            if name not in needed:
                raise InputError(
                    f"the part '{name}' is not among those to be built, but has settings or a file",
                    remedy=f"add --only {name}, or --all",
                )
        self.monolingual.check_used([name for name in needed if name not in self.files.files])
