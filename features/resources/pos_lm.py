"""PosLanguageModel: n-gram models of parts of speech."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.progress import Progress, silent
from features.core.resource import Parts
from features.resources.annotation import LayerBuilder
from features.resources.language_model import LanguageModel
from features.text.corpus import ParallelCorpus

ORDER = 6  # DFKI (Popovic 2012), section 2.2: PLM6


@dataclass(frozen=True, kw_only=True)
class PosLanguageModelBuilder(LayerBuilder):
    """From a layer of the annotation, smoothed as words are, with the fallback for small vocabularies."""

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "PosLanguageModel":
        model = PosLanguageModel.from_tokens(
            self.tags,
            order=self.order,
            case="true",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return model.with_settings(**self.settings, arpa=False)


class PosLanguageModel(LanguageModel):
    """A language model of a layer of the annotation of one side; case is kept.

    `source_pos_lm` and `target_pos_lm` are of detailed tags (`xpos`), as DFKI asks for (section 2);
    `source_upos_lm` and `target_upos_lm` of universal parts of speech ("simple" tags: WLV-SHEF, table 4).
    """

    parts: ClassVar[Parts] = {
        f"{side}_{name}_lm": {
            "side": side,
            "layer": layer,
            "order": ORDER,
            "annotation": f"{side}_annotation",
        }
        for side in ("source", "target")
        for name, layer in (("pos", "xpos"), ("upos", "upos"))
    }
    builder = PosLanguageModelBuilder
