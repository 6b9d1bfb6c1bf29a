"""DevelopmentSet: pairs of the corpus, translated by a decoder trained without them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.progress import Progress, silent
from features.comparisons.phrase_decoder import decode
from features.core.resource import Builder, Parts, Resource
from features.learned.translated_corpus import reduced
from features.storage.damage import Damaged, finite, typed
from features.text.corpus import ParallelCorpus, Rows, held_out_lines, split_pairs
from features.text.tokens import Tokens
from qe_papers.naive_bayes import EVIDENCE, evidence_of

_TEXTS: Final = ("source", "machine", "reference")
_MADE: Final = ("phrase_table", "target_lm", "lexicon_source_to_target")  # built from the rest of the corpus
_LEAST: Final = 20  # pairs
_SHARE: Final = 8  # one block in so many is drawn if no lines are given


@dataclass(frozen=True, kw_only=True)
class DevelopmentSetBuilder(Builder):
    """Selects lines `first_line` to `last_line` of the corpus, from 1, or draws `pairs` if both are 0."""

    first_line: Annotated[int, Ge(0)] = 0
    last_line: Annotated[int, Ge(0)] = 0
    pairs: Count = 2000
    seed: Seed = 0
    scratch: Path | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "DevelopmentSet":
        """Raises InputError for lines outside the corpus, and for too few pairs selected or remaining."""
        left, rows = self._rows(corpus)
        if min(len(rows), len(left)) < _LEAST:
            raise InputError(
                f"it needs {_LEAST} pairs, and as many others, but of {len(corpus)} pairs it has {len(rows)} "
                f"and {len(left)} others",
                location="development_set",
                remedy="set `first_line` and `last_line` to lines of the corpus, or give more text",
            )
        texts = corpus.take(rows)

        def report(stage: str, completed: int, total: int | None) -> None:
            progress(f"development set: {stage}", completed, total)

        with reduced(corpus.take(left), _MADE, {}, self.scratch, report) as made:
            machine = decode(texts.source, made["phrase_table"], made["target_lm"]).tokens
            lexicon, model = made["lexicon_source_to_target"], made["target_lm"]
            evidence = evidence_of(lexicon, model, texts.source, machine)
        return DevelopmentSet(
            texts.source, machine, texts.target.lower(), evidence,
            settings=self.settings, corpus_fingerprint=corpus.fingerprint,
        )  # fmt: skip

    def _rows(self, corpus: ParallelCorpus) -> tuple[Rows, Rows]:
        if not (self.first_line or self.last_line):
            return split_pairs(corpus, self.pairs, _SHARE, self.seed)
        if not 1 <= self.first_line <= self.last_line:
            raise InputError(
                f"`first_line` {self.first_line} and `last_line` {self.last_line} are no lines from 1 on",
                location="development_set",
                remedy="give the first and the last line of a part of the corpus",
            )
        return held_out_lines(corpus, self.first_line, self.last_line)


@dataclass(frozen=True, eq=False)
class DevelopmentSet(Resource):
    """Part of the corpus that replaces a translation system's development set.

    It is translated (`features.comparisons.phrase_decoder`) with resources built from pairs that share
    neither its sources nor its targets.

    source     (n texts) the sources
    machine    their translations, lower-cased
    reference  the other side of the pairs, lower-cased
    evidence   (kinds, n_tokens) evidence for the words of `machine` from those resources (`evidence_of`)
    """

    parts: ClassVar[Parts] = {"development_set": {}}
    builder: ClassVar[type[Builder]] = DevelopmentSetBuilder

    source: Tokens = field(repr=False)
    machine: Tokens = field(repr=False)
    reference: Tokens = field(repr=False)
    evidence: NDArray[np.float64] = field(repr=False)

    def check_arrays(self) -> None:
        for name in _TEXTS:
            tokens: Tokens = getattr(self, name)
            tokens.check_arrays()
            if len(tokens) != len(self.source):
                raise Damaged(f"{len(tokens)} texts of `{name}` for {len(self.source)} of `source`")
        typed("evidence", self.evidence, np.float64, EVIDENCE, len(self.machine.ids))
        finite("evidence", self.evidence)
