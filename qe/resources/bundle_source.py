"""BundleSource: everything that a bundle is built from, and its cache key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from features.basics.progress import Progress, silent
from features.core import bundle as bundles
from features.core.bundle import Builders, Bundle
from features.storage.cache_folder import cache_entry
from features.storage.files import digest
from features.text.corpus import ParallelCorpus
from qe.resources.annotations import Annotations
from qe.resources.corpora import Corpus, Tokenizers
from qe.resources.inputs import Inputs


@dataclass(frozen=True, eq=False)
class BundleSource:
    """What a bundle is built from.

    corpus       the sentence pairs
    annotations  of the sides that have one
    inputs       what else parts are built from, and their settings
    engine       kind -> function that builds its parts elsewhere, such as on Spark
    """

    corpus: Corpus
    tokenizers: Tokenizers
    annotations: Annotations = field(default_factory=Annotations)
    inputs: Inputs = field(default_factory=Inputs)
    engine: Builders = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        """What the bundle's manifest says of its origin: the corpus and the tokenizers."""
        tokenizers = [tokenizer.settings() for tokenizer in self.tokenizers]
        return {**self.corpus.provenance, "tokenizers": tokenizers}

    @property
    def fingerprint(self) -> str:
        """Identifies corpus, tokenizers, inputs and settings.

        Raises InputError for settings that parts do not take.
        """
        content = {**self.provenance, **self.inputs.key(self._builders())}
        return digest(sorted((k, repr(v)) for k, v in content.items()))

    def check_used(self, parts: Sequence[str]) -> None:
        """Raises InputError for inputs that none of the parts takes."""
        self.inputs.check_used(parts, self._builders())

    def build(self, directory: Path, parts: Sequence[str], progress: Progress = silent) -> Bundle:
        """The bundle in `directory`; parts that are there as wanted are kept.

        Raises InputError for a corpus that cannot be used, and a folder with resources of another corpus.
        """

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
        """The bundle in a folder of the cache that is named after the fingerprint."""
        return self.build(cache_entry(cache, "resources", self.fingerprint), parts, progress)

    def _builders(self) -> Builders:
        return self.inputs.builders(self.annotations, self.engine)
