"""PosLexicon: IBM Model 1 between n-grams of parts of speech."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.annotation import Annotation
from features.resources.lexicon import Lexicon, LexiconDirection, given_first
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens

ORDER = 4  # DFKI (Popovic 2012), section 2.1: POS-4grams
SAMPLE = 100_000  # pairs; there 97,122 (table 1)


@dataclass(frozen=True, kw_only=True)
class PosLexiconBuilder(Builder):
    """Textbook EM, as for words."""

    source_annotation: Annotation
    target_annotation: Annotation
    direction: LexiconDirection
    layer: Layer = "xpos"
    order: int = ORDER
    sample: int = SAMPLE
    iterations: int = 5
    prune: float = 1e-5

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "PosLexicon":
        rows = corpus.spread(self.sample)
        sides = self.source_annotation, self.target_annotation
        source, target = (unit_ngrams(side.layer(self.layer).take(rows), self.order) for side in sides)
        lexicon = PosLexicon.from_tokens(
            *given_first(self.direction, source, target),
            iterations=self.iterations,
            prune=self.prune,
            stage=f"IBM Model 1 of tags, {self.direction.replace('_', ' ')}",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return lexicon.with_settings(
            direction=self.direction,
            layer=self.layer,
            order=self.order,
            sample=len(rows),
            annotation=[side.fingerprint for side in sides],
        )


class PosLexicon(Lexicon):
    """t(tag n-gram | tag n-gram of the other side), learned from `sample` pairs spread over the corpus.

    Popovic (WMT12), section 2.1, equations 2-3: the units are overlapping n-grams of detailed tags.
    """

    parts: ClassVar[Parts] = {
        f"pos_lexicon_{direction}": {"direction": direction}
        for direction in ("source_to_target", "target_to_source")
    }
    builder = PosLexiconBuilder


def unit_ngrams(tokens: Tokens, order: int) -> Tokens:
    """The overlapping n-grams of each text as tokens of their own: max(m - order + 1, 0) of m tokens.

    >>> units = unit_ngrams(Tokens.from_lists([["DET", "NOUN", "VERB"], ["X"]]), 2)
    >>> units.words(0), units.words(1)
    (['DET NOUN', 'NOUN VERB'], [])
    """
    types, ids = np.array(tokens.types, object), np.asarray(tokens.ids)
    ends = np.repeat(np.asarray(tokens.offsets[1:]), tokens.lengths)
    names, numbers = types, ids.astype(np.int64)
    for length in range(2, order + 1):
        # The n-grams that begin at each position, numbered; those that leave the text fall away at the end.
        following = np.concatenate((ids[length - 1 :], np.zeros(min(length - 1, len(ids)), ids.dtype)))
        pairs, numbers = np.unique(numbers * len(types) + following, return_inverse=True)
        names = names[pairs // max(len(types), 1)] + " " + types[pairs % max(len(types), 1)]
    inside = np.arange(len(ids)) + order <= ends
    lengths = np.maximum(tokens.lengths - order + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Tokens(tuple(names.tolist()), numbers[inside].astype(np.int32), offsets)
