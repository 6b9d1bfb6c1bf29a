"""TranslatedLanguageModel: models of machine translations, and of their references."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.learned.translated_corpus import TranslatedCorpus
from features.resources.language_model import LanguageModel
from features.text.corpus import ParallelCorpus


@dataclass(frozen=True, kw_only=True)
class TranslatedLanguageModelBuilder(Builder):
    translated_corpus: TranslatedCorpus
    text: Literal["machine", "reference"]
    order: Count

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "TranslatedLanguageModel":
        made = TranslatedLanguageModel.from_tokens(
            self.translated_corpus.machine if self.text == "machine" else self.translated_corpus.reference,
            order=self.order,
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return made.with_settings(**self.settings, arpa=False)


class TranslatedLanguageModel(LanguageModel):
    """A language model of one text of `translated_corpus`. The order is DCU's (WMT12, section 2.1)."""

    parts: ClassVar[Parts] = {
        "machine_text_lm": {"text": "machine", "order": 5},
        "human_text_lm": {"text": "reference", "order": 5},
    }
    builder: ClassVar[type[Builder]] = TranslatedLanguageModelBuilder
