"""NumberLanguageModel: models of words in which all numbers are one."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.language_model import LanguageModel, LMScores
from features.resources.word_lexicon import plain
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class NumberLanguageModelBuilder(Builder):
    side: Side
    order: Count

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "NumberLanguageModel":
        made = NumberLanguageModel.from_tokens(
            plain(corpus.side(self.side)),
            order=self.order,
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return made.with_settings(**self.settings, arpa=False)


class NumberLanguageModel(LanguageModel):
    """A language model that reads each number as `$number`, in the corpus and in texts. Source: Buck 2012
    (UEdin at WMT12), section 4.1; order: section 3.3.
    """

    parts: ClassVar[Parts] = {
        "source_number_lm": {"side": "source", "order": 4},
        "target_number_lm": {"side": "target", "order": 4},
    }
    builder: ClassVar[type[Builder]] = NumberLanguageModelBuilder

    def score_orders(self, tokens: Tokens) -> tuple[LMScores, ...]:
        return super().score_orders(plain(tokens))
