"""What a bundle is built from beside its corpus, and with which settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from features.core.bundle import Makers, with_needs
from features.core.errors import InputError
from qe.corpus_alignment import Alignments
from qe.corpus_annotation import Annotations
from qe.monolingual import Monolingual
from qe.resource_files import PartFiles
from qe.resource_settings import Settings, checked


@dataclass(frozen=True)
class Inputs:
    """Links of the corpus, further text, files that parts are read from, and settings of parts."""

    alignments: Alignments = field(default_factory=lambda: Alignments(None))
    monolingual: Monolingual = field(default_factory=lambda: Monolingual({}))
    files: PartFiles = field(default_factory=lambda: PartFiles({}))
    settings: Settings = field(default_factory=dict)

    @property
    def asked(self) -> list[str]:
        """The parts that have settings or a file of their own."""
        return [*self.files.files, *self.settings]

    def makers(self, annotations: Annotations, engine: Makers | None = None) -> Makers:
        """How `features.core.bundle.build` makes parts; `engine` makes those of its kinds elsewhere."""
        others = {**annotations.makers, **self.alignments.makers, **(engine or {})}
        return {**others, **self.monolingual.makers(others), **self.files.makers}

    def wanted(self, annotations: Annotations) -> Mapping[str, Mapping[str, Any]]:
        """The settings that the built parts must have; one that is read from a file has no further text."""
        found: dict[str, dict[str, Any]] = {}
        own = {name: {"monolingual": None} for name in self.files.files}
        sources = annotations.wanted, self.alignments.wanted, self.monolingual.wanted, self.files.wanted, own
        for source in sources:
            for name, settings in source.items():
                found[name] = {**found.get(name, {}), **settings}
        return found

    def checked_settings(self, makers: Makers) -> dict[str, dict[str, Any]]:
        """The settings that differ from what parts have anyway; raises InputError as `checked` does."""
        return checked(self.settings, makers)

    def key(self, makers: Makers) -> dict[str, Any]:
        """What distinguishes a cached bundle of these from one of the corpus alone, which has none of it.

        A folder of its own: experiments with and without must not build each other's parts again.
        """
        everything = {
            "alignments": self.alignments.fingerprint,
            "monolingual": sorted(self.monolingual.fingerprints.items()),
            "read": sorted(self.files.fingerprints.items()),
            "settings": sorted((k, sorted(v.items())) for k, v in self.checked_settings(makers).items()),
        }
        return {name: value for name, value in everything.items() if value}

    def check_used(self, parts: Sequence[str], makers: Makers) -> None:
        """Raises InputError for what none of these parts, or what they are built from, takes."""
        self.alignments.check_used(parts)
        needed = with_needs(parts, makers)
        for name in (*self.files.files, *self.checked_settings(makers)):
            if name not in needed:
                raise InputError(
                    f"the part '{name}' is not among those to be built, but has settings or a file",
                    remedy=f"add --only {name}, or --all",
                )
        self.monolingual.check_used([name for name in needed if name not in self.files.files])
