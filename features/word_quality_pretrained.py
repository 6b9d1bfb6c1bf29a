"""Word-level quality that also sees what parallel text alone says of every word and gap."""

from dataclasses import dataclass
from typing import ClassVar

from features.knowledge.pretrained import PretrainedKnowledge
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PretrainedWordQuality(PretrainedKnowledge, WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the log-odds of `synthetic_word_quality`: those
    of the word and its neighbours, or of the gap.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_pretrained"
