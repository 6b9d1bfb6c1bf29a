"""PosNgrams: how often every n-gram of parts of speech occurs in one side of the corpus."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from features.core.annotation import Layer
from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.resources.annotation import Annotation, Side
from features.resources.ngrams import NgramCounts

ORDER = 7  # DCU-SYMC (Rubino et al. 2012), section 3.2


class PosNgrams(NgramCounts):
    """Counts of the n-grams of a layer of the annotation; case is kept."""

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"{side}_pos_ngrams": {
            "side": side,
            "layer": "xpos",
            "order": ORDER,
            "annotation": f"{side}_annotation",
        }
        for side in ("source", "target")
    }

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        side: Side,
        layer: Layer,
        order: int,
        annotation: Annotation,
        progress: Progress = silent,
    ) -> Self:
        """From a layer of the annotation."""
        found = cls.from_tokens(
            annotation.layer(layer),
            order=order,
            case="true",
            progress=progress,
            fingerprint=corpus.fingerprint,
        )
        found.settings = {
            "side": side,
            "layer": layer,
            "annotation": annotation.fingerprint,
            **found.settings,
        }
        return found
