"""SyntheticWordQuality: P(BAD) of target words and gaps, learned from parallel text alone."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray, row_index
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.progress import Progress, prefixed, reported, silent
from features.basics.threads import side_by_side
from features.core import bundle
from features.core.resource import Builder, Parts, Resource
from features.learned.translated_corpus import reduced
from features.resources.aligner import Aligner
from features.resources.lexicon import Lexicon
from features.text.corpus import ParallelCorpus, split_pairs
from features.word_level.columns import columns_in
from features.word_level.keys import Keys
from features.word_level.model import Inputs, TokenModel
from features.word_level.pooling import Beginnings, SyntheticExamples
from features.word_level.synthetic import (
    Examples,
    examples,
    shared_columns,
    shared_keys,
)
from features.word_level.tokens import COLUMNS_VERSION, TokenResources, TokenTable

_LEAST = 50  # held-out pairs
_TREES: Mapping[str, Any] = {"leaves": 63, "rate": 0.1, "networks": 0}


@dataclass(frozen=True, kw_only=True)
class SyntheticWordQualityBuilder(Builder):
    """Holds out one pair of `share`, at most `pairs`; `rounds` of boosting, `networks` of texts."""

    aligner: Aligner
    lexicon_source_to_target: Lexicon
    lexicon_target_to_source: Lexicon
    pairs: Count = 20_000
    share: Count = 8
    rounds: Count = 200
    networks: Count = 3
    seed: Seed = 0
    scratch: Path | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SyntheticWordQuality":
        remaining_rows, held_out_rows = split_pairs(corpus, self.pairs, self.share, self.seed)
        if len(held_out_rows) < _LEAST:
            raise InputError(
                f"quality of words is learned from {_LEAST} held-out sentence pairs or more, but of "
                f"{len(corpus)} pairs only {len(held_out_rows)} could be held out "
                "(5 to 45 words, not repeated)",
                remedy="give a parallel corpus of some 170 pairs or more, or leave out what needs this",
            )
        examples = self._examples(corpus, remaining_rows, held_out_rows, progress)
        table, bad = examples.table, examples.bad
        columns = shared_columns(table.word_names), shared_columns(table.gap_names)
        inputs = (
            _inputs(table.words, table.word_names, columns[0], table.word_keys, shared_keys(table.word_keys)),
            _inputs(table.gaps, table.gap_names, columns[1], table.gap_keys, shared_keys(table.gap_keys)),
        )
        flags, segment = (bad.words, bad.gaps), (row_index(table.offsets), row_index(table.gap_offsets))
        options = {"rounds": self.rounds, "seed": self.seed, **_TREES}

        def model(i: int) -> TokenModel:
            return TokenModel.fit(inputs[i], flags[i], segment[i], **options)

        def texts(examples: SyntheticExamples) -> Beginnings:
            return Beginnings.fit(examples, networks=self.networks, seed=self.seed)

        jobs: list[Callable[[], Any]] = [partial(model, 0), partial(model, 1)]
        jobs += [partial(texts, examples.target), partial(texts, examples.source)]
        stage = "synthetic word quality: learning"
        progress(stage, 0, len(jobs))
        with threadpool_limits(1, "blas"):  # for all of them: each would lift the limit of the others
            learned = reported(side_by_side(lambda job: job(), jobs), progress, stage, len(jobs))
            words, gaps, target, source = learned
        counts = {"held_out": len(held_out_rows), "words": len(bad.words), "bad_words": int(bad.words.sum())}
        return SyntheticWordQuality(
            words,
            gaps,
            {"target": target, "source": source},
            *columns,
            settings={**self.settings, **counts},
            corpus_fingerprint=corpus.fingerprint,
        )

    def _examples(
        self,
        corpus: ParallelCorpus,
        remaining_rows: NDArray[np.int64],
        held_out_rows: NDArray[np.int64],
        progress: Progress,
    ) -> Examples:
        report = prefixed(progress, "synthetic word quality")
        names = [field.name for field in fields(TokenResources)]
        whole: dict[str, Any] = {name: getattr(self, name) for name in bundle.resource_parameters(type(self))}
        needed = [name for name in names if name not in whole]
        with reduced(corpus.take(remaining_rows), needed, whole, self.scratch, report) as made:
            return examples(corpus.take(held_out_rows), TokenResources(**whole, **made), report)


@dataclass(frozen=True, eq=False)
class SyntheticWordQuality(Resource):
    """Boosted trees that tell wrong words and gaps of a translation, without any human label. Part of the
    corpus is held out. Resources built from the rest, and the bundle's aligner and lexicons, translate its
    sources (`features.comparisons.phrase_decoder`) and describe the words of the translations; words and gaps
    are BAD where a cheapest edit into the reference changes them. Columns that mean something else in other
    systems' translations are not used.

    words, gaps                the models
    texts                      side -> networks that predict how much is wrong: a beginning for
                               the networks that are trained on labels
    word_columns, gap_columns  what they see of a TokenTable

    Source: this project; synthetic data for word-level quality estimation as in Tuan et al. 2021, section 3.
    """

    version: ClassVar[int] = 10 * COLUMNS_VERSION + 3
    parts: ClassVar[Parts] = {"synthetic_word_quality": {}}
    builder = SyntheticWordQualityBuilder

    words: TokenModel
    gaps: TokenModel
    texts: Mapping[str, Beginnings]
    word_columns: tuple[str, ...]
    gap_columns: tuple[str, ...]

    def probabilities(self, table: TokenTable) -> tuple[FloatArray, FloatArray]:
        words = _inputs(
            table.words, table.word_names, self.word_columns, table.word_keys, self.words.encodings
        )
        gaps = _inputs(table.gaps, table.gap_names, self.gap_columns, table.gap_keys, self.gaps.encodings)
        return self.words.probability(words), self.gaps.probability(gaps)

    def save(self, path: Path) -> None:
        meta = {
            "settings": dict(self.settings),
            "corpus_fingerprint": self.corpus_fingerprint,
            "word_columns": self.word_columns,
            "gap_columns": self.gap_columns,
            "text_columns": {side: texts.columns for side, texts in self.texts.items()},
        }
        (path / "meta.json").write_text(json.dumps(meta, indent=1, sort_keys=True), "utf-8")
        self.words.save(path / "words")
        self.gaps.save(path / "gaps")
        for side, texts in self.texts.items():
            texts.save(path / f"{side}_texts")

    @classmethod
    def load(cls, path: Path) -> Self:
        meta = json.loads((path / "meta.json").read_text("utf-8"))
        return cls(
            TokenModel.load(path / "words"),
            TokenModel.load(path / "gaps"),
            {
                side: Beginnings.load(path / f"{side}_texts", tuple(meta["text_columns"][side]))
                for side in ("target", "source")
                if side in meta["text_columns"]
            },
            tuple(meta["word_columns"]),
            tuple(meta["gap_columns"]),
            settings=meta["settings"],
            corpus_fingerprint=meta["corpus_fingerprint"],
        )


def _inputs(
    values: NDArray[np.float32],
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    keys: Mapping[str, Keys],
    wanted_keys: Any,
) -> Inputs:
    columns = np.ascontiguousarray(values[:, columns_in(names, wanted)])
    return Inputs(columns, {name: keys[name] for name in keys if name in wanted_keys})
