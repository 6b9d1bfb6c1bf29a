"""PosLanguageModel: n-gram models of parts of speech."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from features.core.annotation import Layer
from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.resources.annotation import Annotation, Side
from features.resources.language_model import LanguageModel

ORDER = 6  # DFKI (Popovic 2012), section 2.2: PLM6


class PosLanguageModel(LanguageModel):
    """A language model of a layer of the annotation of one side; case is kept.

    `source_pos_lm` and `target_pos_lm` are of detailed tags (`xpos`), as DFKI asks for (section 2);
    `source_upos_lm` and `target_upos_lm` of universal parts of speech ("simple" tags: WLV-SHEF, table 4).
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"{side}_{name}_lm": {
            "side": side,
            "layer": layer,
            "order": ORDER,
            "annotation": f"{side}_annotation",
        }
        for side in ("source", "target")
        for name, layer in (("pos", "xpos"), ("upos", "upos"))
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
        """From a layer of the annotation, smoothed as words are, with the fallback for small vocabularies."""
        model = cls.from_tokens(
            annotation.layer(layer),
            order=order,
            case="true",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        model.settings = {
            "side": side,
            "layer": layer,
            "annotation": annotation.fingerprint,
            **model.settings,
            "arpa": False,
        }
        return model
