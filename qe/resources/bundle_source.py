"""BundleSource: everything that a bundle is built from, and its cache key."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core import bundle as bundles
from features.core.bundle import Builders, Bundle, with_needs
from features.storage.cache_folder import cache_entry
from features.storage.files import digest
from features.text.corpus import ParallelCorpus
from qe.resources.alignments import Alignments
from qe.resources.annotations import Annotations
from qe.resources.corpora import Corpus, Monolingual, Tokenizers
from qe.resources.files import PartFiles
from qe.resources.settings import PartSettings, checked


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
        builders: Builders = {**annotations.builders(), **self.alignments.builders(), **engine}
        return {**builders, **self.monolingual.builders(builders), **self.files.builders()}

    def wanted(self, annotations: Annotations) -> Mapping[str, Mapping[str, Any]]:
        """The settings that the built parts must have; a part read from a file has no further text."""
        without_text = {name: {"monolingual": None} for name in self.files.files}
        inputs = (annotations.wanted, self.alignments.wanted, self.monolingual.wanted, self.files.wanted)
        wanted: dict[str, dict[str, Any]] = {}
        for settings_of in (*inputs, without_text):
            for name, settings in settings_of.items():
                wanted.setdefault(name, {}).update(settings)
        return wanted

    def checked_settings(self, builders: Builders) -> dict[str, dict[str, Any]]:
        return checked(self.settings, builders)

    def key(self, builders: Builders) -> dict[str, Any]:
        """Cache key of the extra inputs; empty for the corpus alone."""
        everything = {
            "alignments": self.alignments.fingerprint,
            "monolingual": sorted(self.monolingual.fingerprints.items()),
            "read": sorted(self.files.fingerprints.items()),
            "settings": sorted((k, sorted(v.items())) for k, v in self.checked_settings(builders).items()),
        }
        return {name: value for name, value in everything.items() if value}

    def check_used(self, parts: Sequence[str], builders: Builders) -> None:
        self.alignments.check_used(parts)
        needed = with_needs(parts, builders)
        for name in (*self.files.files, *self.checked_settings(builders)):
            if name not in needed:
                raise InputError(
                    f"the part '{name}' is not among those to be built, but has settings or a file",
                    remedy=f"add --only {name}, or --all",
                )
        self.monolingual.check_used([name for name in needed if name not in self.files.files])


@dataclass(frozen=True, eq=False)
class BundleSource:
    """What a bundle is built from; `engine` (by kind) builds parts elsewhere, such as on Spark."""

    corpus: Corpus
    tokenizers: Tokenizers
    annotations: Annotations = field(default_factory=Annotations)
    inputs: Inputs = field(default_factory=Inputs)
    engine: Builders = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        tokenizers = [tokenizer.settings() for tokenizer in self.tokenizers]
        return {**self.corpus.provenance, "tokenizers": tokenizers}

    @property
    def fingerprint(self) -> str:
        """Identifies corpus, tokenizers, inputs and settings."""
        content = {**self.provenance, **self.inputs.key(self._builders())}
        return digest(sorted((k, repr(v)) for k, v in content.items()))

    def check_used(self, parts: Sequence[str]) -> None:
        self.inputs.check_used(parts, self._builders())

    def build(self, directory: Path, parts: Sequence[str], progress: Progress = silent) -> Bundle:
        """The bundle in `directory`; parts that are there as wanted are kept."""

        def read() -> ParallelCorpus:
            return self.corpus.read(self.tokenizers, progress)

        builders = self._builders()
        return bundles.build(
            read,
            directory,
            parts,
            provenance=self.provenance,
            progress=progress,
            builders=builders,
            wanted=self.inputs.wanted(self.annotations),
            settings=self.inputs.checked_settings(builders),
        )

    def cached(self, cache: Path, parts: Sequence[str], progress: Progress = silent) -> Bundle:
        return self.build(cache_entry(cache, "resources", self.fingerprint), parts, progress)

    def _builders(self) -> Builders:
        return self.inputs.builders(self.annotations, self.engine)


Build = Callable[[Sequence[str], Progress], Bundle]  # parts, progress


@dataclass
class _Watched:
    progress: Progress
    part: str = field(default="", init=False)

    def __call__(self, stage: str, completed: int, total: int | None) -> None:
        if stage.startswith("building "):
            self.part = stage.removeprefix("building ")
        self.progress(stage, completed, total)


def build_possible(
    build: Build, parts: Sequence[str], progress: Progress, requested: Collection[str] = ()
) -> tuple[Bundle, Mapping[str, InputError]]:
    """A bundle with all of the parts that can be built, and for each other part the reason.

    A part is left out if the corpus is unsuitable (too few pairs, no words), or a package is absent, and with
    it all that is built from it. Raises InputError for faults of files (errors with a location), if no part
    was begun, and for a part that was `requested` by name.
    """
    wanted, left_out = list(parts), dict[str, InputError]()
    while True:
        watched = _Watched(progress)
        try:
            return build(wanted, watched), left_out
        except InputError as error:
            lost = [name for name in wanted if watched.part and watched.part in with_needs([name])]
            if not lost or error.location is not None:
                raise
            if watched.part in requested:
                problem = f"the part '{watched.part}' cannot be built: {error.problem}"
                raise InputError(problem, remedy=error.remedy) from None
            left_out |= dict.fromkeys(lost, error)
            wanted = [name for name in wanted if name not in lost]
