"""PosNgrams: how often every n-gram of parts of speech occurs in one side of the corpus."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.progress import Progress, silent
from features.core.resource import Parts
from features.resources.annotation import LayerBuilder
from features.resources.ngrams import NgramCounts
from features.text.corpus import ParallelCorpus

ORDER = 7  # DCU-SYMC (Rubino et al. 2012), section 3.2


@dataclass(frozen=True, kw_only=True)
class PosNgramsBuilder(LayerBuilder):
    """From a layer of the annotation."""

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "PosNgrams":
        counts = PosNgrams.from_tokens(
            self.tags,
            order=self.order,
            case="true",
            progress=progress,
            fingerprint=corpus.fingerprint,
        )
        return counts.with_settings(**self.settings)


class PosNgrams(NgramCounts):
    """Counts of the n-grams of a layer of the annotation; case is kept."""

    parts: ClassVar[Parts] = {
        f"{side}_pos_ngrams": {
            "side": side,
            "layer": "xpos",
            "order": ORDER,
            "annotation": f"{side}_annotation",
        }
        for side in ("source", "target")
    }
    builder = PosNgramsBuilder
