"""P(BAD) of words and gaps of the translation: word-level quality estimation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, row_index
from features.basics.errors import InputError
from features.basics.hints import Count, Positive, Seed
from features.core.extractor import Extractor, Feature
from features.core.out_of_fold import ResourceLookup, in_groups
from features.core.segments import Segments, check_texts
from features.word_level.columns import concatenated
from features.word_level.knowledge import AGGREGATES, JudgedWords, Knowing, aggregate, judgements, stem
from features.word_level.labels import PROBABILITIES, Flags, target_labels
from features.word_level.model import Inputs, TokenModel
from features.word_level.places import Kind, Places, WordLevelExtractor
from features.word_level.tokens import TokenTable, remembered
from features.word_level.training_text import OPTIONAL, Extension, TrainingText, load_used, save_used

KINDS: tuple[Kind, ...] = ("word", "gap")
_ORIGIN = "this project: feasibility study on WMT12; labels as in WMT15 task 2, without shifts"


@dataclass(frozen=True, eq=False)
class TokenQuality:
    """P(BAD) of the tokens of n translations, and of gaps (n_tokens + n,): before each, after the last."""

    words: FloatArray
    offsets: NDArray[np.int64]
    gaps: FloatArray
    gap_offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordQuality(Knowing, ResourceLookup, WordLevelExtractor):
    """P(BAD) of every target token and gap, and 16 + 16 aggregates per segment.

    knowledge  additional knowledge (features/knowledge): `pretrained`, the log-odds that
            parallel text alone teaches; `predictor`, how well words are predicted; `vectors`, what the units
            of that network say; `decoder`, how sure the system was; `encoder`, how similar words are to the
            other side. `synthetic` excludes the others: it learns from parallel text and reads no label
    labels  `post_edit`: a token is BAD where a cheapest edit of the translation into its post-edit replaces
            or deletes it (letters alike), a gap where it inserts there; `word_tags`: 2 n + 1 given tags
    use     optional columns of the segments that are read: names, or `auto`: those of `OPTIONAL` that the
            training segments have; what was used in training is required in scoring
    texts   of the training segments (`post_edit`, `reference`): words are looked up in them too, each segment
            apart from its own
    triples whether target encodings are of three words together, too: for ten thousand segments and more
    rounds  of boosting
    leaves  of every tree
    rate    of learning, of the trees
    networks  number of networks whose mean with the trees is P(BAD); 0: trees alone, which score faster
    decode  whether words are compared with what our own decoder makes of the source, which takes half of the
            time of looking words up
    seed    of boosting, and of the first network

    Everything is NaN for an empty translation.
    """

    plain: ClassVar[str] = "words of the translation that look wrong"

    judges: ClassVar[tuple[Kind, ...]] = ("word", "gap")
    variants: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"knowledge": ["decoder"]},
        {"knowledge": ["predictor"]},
        {"knowledge": ["predictor", "vectors"]},
        {"knowledge": ["pretrained"]},
        {"knowledge": ["pretrained", "predictor"]},
        {"knowledge": ["synthetic"]},
    )

    labels: Literal["post_edit", "word_tags"] = "post_edit"
    use: Literal["auto"] | Sequence[str] = "auto"
    texts: Sequence[str] = ()
    triples: bool = False
    rounds: Count = 150
    leaves: Annotated[int, Ge(2)] = 31
    rate: Positive = 0.06
    networks: Annotated[int, Ge(0)] = 2
    decode: bool = True
    seed: Seed = 0
    _models: Mapping[str, TokenModel] | None = field(default=None, init=False, repr=False)
    _used: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _extension: Extension | None = field(default=None, init=False, repr=False)
    _learning: bool = field(default=False, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return JudgedWords if any(judgements(settings)) else cls

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self.texts)
        if self.use != "auto":
            unknown = sorted(set(self.use) - set(OPTIONAL))
            if isinstance(self.use, str) or unknown:
                raise InputError(
                    f"`use` must be auto or a list of columns, but got {self.use!r}",
                    remedy=f"known: {', '.join(OPTIONAL)}",
                )

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"{stem('word_quality', self.knowledge)}_{kind}_{a.name}", f"{kind}s: {a.description}",
                _ORIGIN, a.unit)
            for kind in KINDS
            for a in AGGREGATES
        ]  # fmt: skip

    def requires(self) -> tuple[str, ...]:
        return (*sorted(self._reads), *(column for each in self.knowledge for column in each.requires()))

    @property
    def decodes(self) -> bool:
        return self.decode

    @property
    def _reads(self) -> frozenset[str]:
        return self._used if self.use == "auto" else frozenset(self.use)

    def labels_used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.labels, *self.texts)))

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """Learns from OK and BAD tokens and gaps; raises InputError without any, or for wrong tags."""
        if not len(segments.target_tokens.ids):
            raise InputError("word-level quality is learned from translated words, but there are none")
        there = frozenset(name for name in OPTIONAL if getattr(segments, name) is not None)
        extension = Extension.fit(self, segments, labels, self.aligner)
        used = there if self.use == "auto" else self._reads
        fitted = self.with_learned(
            _used=used, _extension=extension, _learned_knowledge=self._knowledge_of(segments), _learning=True
        )
        bad = target_labels(self.labels, labels, segments)
        table = fitted._table(segments, used)
        names = ("rounds", "leaves", "rate", "networks", "seed")
        settings = {name: getattr(self, name) for name in names}
        examples: dict[Kind, Any] = {
            "word": (bad.words, table.offsets),
            "gap": (bad.gaps, table.gap_offsets),
        }
        models = {
            kind: TokenModel.fit(self._inputs(table, kind), flags, row_index(starts), **settings)
            for kind, (flags, starts) in examples.items()
        }  # one after the other: inputs of both at once are gigabytes for ten thousand segments
        return fitted.with_learned(_models=models, _learning=False)

    def tokens(self, segments: Segments) -> TokenQuality:
        """P(BAD) of every target token and gap; raises InputError if it was not fitted."""
        models = self.learned(self._models)
        table = self._table(segments, self._reads)
        words, gaps = (models[kind].probability(self._inputs(table, kind)) for kind in KINDS)
        return TokenQuality(words, table.offsets, gaps, table.gap_offsets)

    def _inputs(self, table: TokenTable, kind: Kind) -> Inputs:
        if kind == "word":
            return table.word_inputs(self) if self.networks else Inputs(table.words, table.word_keys)
        target = self.target_vectors.vectors
        vectors = [(target, rows) for rows in table.gap_rows.T] if self.networks else []
        return Inputs(table.gaps, table.gap_keys, vectors)

    def places(self, segments: Segments) -> Mapping[Kind, Places]:
        quality = self.tokens(segments)
        return {
            "word": Places(quality.words, quality.offsets),
            "gap": Places(quality.gaps, quality.gap_offsets),
        }

    def bad_places(
        self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]
    ) -> Mapping[Kind, Flags]:
        tags = {name: column for name, column in labels.items() if name != PROBABILITIES}
        bad = target_labels(self.labels, tags, segments)
        return {"word": bad.words.astype(np.bool_), "gap": bad.gaps.astype(np.bool_)}

    def columns_of(self, places: Mapping[Kind, Places]) -> FloatArray:
        words, gaps = places["word"], places["gap"]
        result = np.hstack([aggregate(words.bad, words.offsets), aggregate(gaps.bad, gaps.offsets)])
        result[np.diff(words.offsets) == 0] = np.nan
        return result

    def save(self, path: Path) -> None:
        for kind, model in self.learned(self._models).items():
            model.save(path / kind)
        save_used(self._reads, path)
        self.learned(self._extension).save(path)
        self._save_knowledge(path)

    def restore(self, path: Path) -> Self:
        models = {kind: TokenModel.load(path / kind) for kind in KINDS}
        used = load_used(path)
        extension = Extension(self.triples, TrainingText.load(path))
        learned = self._knowledge_in(path)
        return self.with_learned(_models=models, _used=used, _extension=extension, _learned_knowledge=learned)

    def _table(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        groups = self._groups(segments)
        table = in_groups(
            groups, segments, lambda resources, part, _: remembered(resources, part, used), concatenated
        )
        if self._extension is None:  # nothing was learned yet: what anybody knows of the words
            return table
        table = self._extension.extended(table, is_training=self._learning)
        return self._with_knowledge(table, segments, is_training=self._learning)
