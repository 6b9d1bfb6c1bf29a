"""TranslatedCorpus: sentences of the corpus, references, and our own decoder's output."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.progress import Progress, prefixed, silent
from features.comparisons.phrase_decoder import decode
from features.core import bundle
from features.core.resource import Builder, Parts, Resource
from features.resources.aligner import Aligner
from features.storage.damage import Damaged, typed, within
from features.text.corpus import ParallelCorpus, held_out_in_turn
from features.text.tokens import Tokens, TokensBuilder


@contextmanager
def reduced(
    corpus: ParallelCorpus,
    names: Sequence[str],
    whole_corpus_resources: Mapping[str, Resource],
    scratch: Path | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """Name -> the part, from `whole_corpus_resources` or built from this corpus in a temporary folder."""
    with TemporaryDirectory(prefix="qe-held-out-", dir=scratch) as folder:
        made = bundle.build(
            lambda: corpus,
            Path(folder) / "bundle",
            names,
            progress=progress,
            builders={name: _reused(resource) for name, resource in whole_corpus_resources.items()},
        )
        yield {name: made.part(name) for name in names}


def _reused(resource: Resource) -> Callable[..., Resource]:
    def make(corpus: ParallelCorpus, progress: Progress = silent, **settings: Any) -> Resource:
        return resource

    return make


_TEXTS = ("source", "machine", "reference")
_BATCH = 5000  # sentences translated at a time
_DECODED_BY = ("phrase_table", "target_lm")
_LEAST = 50  # pairs


@dataclass(frozen=True, kw_only=True)
class TranslatedCorpusBuilder(Builder):
    """Translates at most `pairs` sentences, each by resources of the other groups' pairs."""

    aligner: Aligner
    pairs: Count = 150_000
    groups: Annotated[int, Ge(2)] = 2
    seed: Seed = 0
    scratch: Path | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "TranslatedCorpus":
        parts = held_out_in_turn(corpus, self.pairs, self.groups, self.seed)
        total, completed = sum(len(rows) for _, rows in parts), 0
        if total < _LEAST:
            raise InputError(
                f"machine and human text are compared on {_LEAST} sentence pairs or more, but of "
                f"{len(corpus)} pairs only {total} could be held out (5 to 45 words, not repeated)",
                remedy="give a parallel corpus of some 100 pairs or more, or leave out what needs this",
            )
        machine = TokensBuilder()
        for number, (left, rows) in enumerate(parts, start=1):
            stage = f"translated corpus, group {number} of {len(parts)}"
            report = prefixed(progress, stage)
            with reduced(
                corpus.take(left), _DECODED_BY, {"aligner": self.aligner}, self.scratch, report
            ) as made:
                for low in range(0, len(rows), _BATCH):
                    source = corpus.source.take(rows[low : low + _BATCH])
                    machine.add(decode(source, made["phrase_table"], made["target_lm"]).tokens)
                    completed += len(source)
                    progress(f"{stage}: translating", completed, total)
        rows = np.concatenate([rows for _, rows in parts])
        return TranslatedCorpus(
            rows,
            corpus.source.take(rows),
            machine.tokens(),
            corpus.target.take(rows).lower(),
            settings={**self.settings, "translated": total},
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class TranslatedCorpus(Resource):
    """Machine translations and human references of the same sentences. Every sentence is translated
    (`features.comparisons.phrase_decoder`) by a phrase table and a language model that were built from other
    pairs, none of which has the same source or the same target.

    rows       (n,) places of the sentences in the corpus
    source     the sentences
    machine    their translations, lower-cased
    reference  their references, lower-cased
    """

    parts: ClassVar[Parts] = {"translated_corpus": {}}
    builder: ClassVar[type[Builder]] = TranslatedCorpusBuilder

    rows: NDArray[np.int64] = field(repr=False)
    source: Tokens = field(repr=False)
    machine: Tokens = field(repr=False)
    reference: Tokens = field(repr=False)

    def check_arrays(self) -> None:
        typed("rows", self.rows, np.int64, None)
        within("rows", self.rows, 0, 2**62)
        for name in _TEXTS:
            tokens: Tokens = getattr(self, name)
            tokens.check_arrays()
            if len(tokens) != len(self.rows):
                raise Damaged(f"{len(tokens)} texts of `{name}` for {len(self.rows)} rows")
