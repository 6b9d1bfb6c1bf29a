"""Knowledge: inputs of models of words in addition to the text."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.extractor import Extractor, Feature, Fitted
from features.core.resource import Resource
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, longest_run, lowest_mean, quantile
from features.resources.aligner import Aligner
from features.storage.files import digest
from features.text.tokens import segment_max, segment_mean, segment_sum
from features.word_level.columns import Floats, Longs
from features.word_level.network import Matrix
from features.word_level.pooling import Parameters
from features.word_level.tokens import COLUMNS_VERSION, TokenResources, TokenTable, describe


@dataclass(frozen=True, eq=False)
class DescribedSegments:
    segments: Segments
    aligner: Aligner
    is_training: bool = False


class Knowledge:
    """One kind of knowledge; subclasses are dataclasses of its settings and resources.

    A field annotated with a Resource class is filled with the part of that name from the bundle.
    """

    kind: ClassVar[str]  # its name: that of its module, unless `knowledge` registers another

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__module__.rpartition(".")[2]

    def requires(self) -> tuple[str, ...]:
        return ()

    def content_fingerprint(self) -> str:
        return ""

    def checksums(self) -> Mapping[str, str]:
        """Name -> SHA-256 of the files that it reads itself."""
        return {}

    def identity(self) -> tuple[Hashable, ...]:
        """Kind, settings and content, without resources."""
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}  # type: ignore[arg-type]
        plain = {name: value for name, value in settings.items() if not isinstance(value, Resource)}
        return self.kind, repr(plain), self.content_fingerprint()


class TokenKnowledge(Knowledge, ABC):
    """Columns of words and gaps in addition to those of `describe`."""

    @abstractmethod
    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        """The table with its columns."""

    def beginnings(
        self, side: str, names: Sequence[str], width: int, outcomes: Matrix
    ) -> Sequence[Parameters]:
        """Initial parameters of the pooling networks of a side; none: random ones.

        names     the first of the `width` inputs
        outcomes  (n, m) labels of the networks, standardised
        """
        return ()


class LearnedKnowledge(Fitted, TokenKnowledge):
    """Columns that are learned from the training segments first, without their labels."""

    @abstractmethod
    def fit(self, segments: Segments, aligner: Aligner) -> Self:
        """A copy that has learned; `aligner` links words."""


class Judgement(Knowledge, ABC):
    """P(BAD) of words and gaps without labels of the task: it replaces a model."""

    @abstractmethod
    def judged(self, table: TokenTable) -> tuple[FloatArray, FloatArray]:
        """P(BAD) of the (n_tokens,) words and the (n_gaps,) gaps."""


KNOWLEDGE: Final[Catalogue[Knowledge]] = Catalogue("features.knowledge", Knowledge, "knowledge")


def knowledge(name: str) -> Callable[[type[Any]], type[Any]]:
    """Class decorator: registers a kind of knowledge by its name."""

    def decorate(kind: type[Any]) -> type[Any]:
        kind.kind = name
        return KNOWLEDGE.register(name)(kind)

    return decorate


@dataclass(frozen=True, eq=False)
class Knowing(TokenResources):
    """Resources for token tables, and kinds of knowledge."""

    knowledge: Annotated[Sequence[Knowledge], KNOWLEDGE] = ()
    _learned_knowledge: tuple[LearnedKnowledge, ...] = field(default=(), init=False, repr=False)

    @property
    def knows(self) -> frozenset[str]:
        return frozenset(item.kind for item in self.knowledge)

    def described(self, segments: Segments, use: frozenset[str]) -> TokenTable:
        table = super().described(segments, use)
        described = DescribedSegments(segments, self.aligner)
        for item in sorted(self.knowledge, key=lambda item: item.kind):
            if isinstance(item, TokenKnowledge) and not isinstance(item, LearnedKnowledge):
                table = item.extended(table, described)
        return table

    @property
    def described_by(self) -> tuple[Hashable, ...]:
        known = (item for item in self.knowledge if not isinstance(item, LearnedKnowledge))
        return (*super().described_by, *sorted(item.identity() for item in known))

    def content_fingerprint(self) -> str:
        return digest(
            "token columns", COLUMNS_VERSION, *(item.content_fingerprint() for item in self.knowledge)
        )

    def checksums(self) -> Mapping[str, str]:
        return {name: value for item in self.knowledge for name, value in item.checksums().items()}

    def _knowledge_of(self, segments: Segments) -> tuple[LearnedKnowledge, ...]:
        return tuple(
            item.fit(segments, self.aligner) for item in self.knowledge if isinstance(item, LearnedKnowledge)
        )

    def _with_knowledge(self, table: TokenTable, segments: Segments, *, is_training: bool) -> TokenTable:
        for item in self._learned_knowledge:
            table = item.extended(table, DescribedSegments(segments, self.aligner, is_training))
        return table

    def _save_knowledge(self, path: Path) -> None:
        for item in self._learned_knowledge:
            (path / item.kind).mkdir()
            item.save(path / item.kind)

    def _knowledge_in(self, path: Path) -> tuple[LearnedKnowledge, ...]:
        learned = (item for item in self.knowledge if isinstance(item, LearnedKnowledge))
        return tuple(item.restore(path / item.kind) for item in learned)


def stem(name: str, knowledge: Sequence[Knowledge]) -> str:
    """Prefix of a family's columns: its name, and the kinds of knowledge in their order.

    >>> stem("word_quality", [])
    'word_quality'
    """
    return "_".join([name, *(item.kind for item in knowledge)])


def judgements(settings: Mapping[str, Any]) -> Iterator[str]:
    """The kinds of knowledge in settings that replace labels; raises InputError if one is combined."""
    listed = settings.get("knowledge")
    entries = listed if isinstance(listed, list | tuple) else ()  # mistakes in it are told by `Configured`
    kinds = [entry.get("kind") if isinstance(entry, Mapping) else entry for entry in entries]
    for kind in kinds:
        if kind in KNOWLEDGE.names and issubclass(KNOWLEDGE.get(kind), Judgement):
            if len(kinds) > 1:
                raise InputError(
                    f"`{kind}` judges words without labels: it cannot be combined with other knowledge, "
                    f"but got {', '.join(map(str, kinds))}",
                    location="knowledge",
                    remedy="`pretrained` gives its log-odds to a model that learns from labels",
                )
            yield str(kind)


_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1 in logarithms


@dataclass(frozen=True, eq=False)
class Probabilities:
    values: Floats
    offsets: Longs

    @cached_property
    def rising(self) -> Floats:
        return ascending(self.values, self.offsets)

    @cached_property
    def _negated(self) -> Floats:
        return ascending(-self.values, self.offsets)

    def mean(self, values: NDArray[Any]) -> Floats:
        return segment_mean(values, self.offsets)

    def top(self, count: int) -> Floats:
        return -lowest_mean(self._negated, self.offsets, count)

    def quantile(self, level: float) -> Floats:
        return quantile(self.rising, self.offsets, level)

    def total(self, values: NDArray[Any]) -> Floats:
        return segment_sum(values, self.offsets)


@dataclass(frozen=True)
class Aggregate:
    """One number of a segment that has tokens, by `compute` (n,)."""

    name: str
    description: str
    unit: str
    compute: Callable[[Probabilities], Floats]


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate("mean", "mean of P(BAD)", "probability", lambda p: p.mean(p.values)),
    *(
        Aggregate(f"top{count}", f"mean of the {count} highest P(BAD), of all if there are fewer",
            "probability", partial(Probabilities.top, count=count))
        for count in (3, 5, 10)
    ),
    Aggregate("above_30", "share with P(BAD) > .3", "share", lambda p: p.mean(p.values > 0.3)),
    Aggregate("above_50", "share with P(BAD) > .5", "share", lambda p: p.mean(p.values > 0.5)),
    Aggregate("above_70", "share with P(BAD) > .7", "share", lambda p: p.mean(p.values > 0.7)),
    Aggregate("quartile1", "first quartile of P(BAD)", "probability", lambda p: p.quantile(0.25)),
    Aggregate("median", "median of P(BAD)", "probability", lambda p: p.quantile(0.5)),
    Aggregate("quartile3", "third quartile of P(BAD)", "probability", lambda p: p.quantile(0.75)),
    Aggregate("percentile90", "90th percentile of P(BAD)", "probability", lambda p: p.quantile(0.9)),
    Aggregate("maximum", "highest P(BAD)", "probability", lambda p: segment_max(p.values, p.offsets)),
    Aggregate("log_ok", "log probability that nothing is BAD, places taken as independent", "nats",
        lambda p: p.total(np.log1p(-np.minimum(p.values, 1 - _CERTAIN)))),
    Aggregate("expected", "expected number of BAD places", "places", lambda p: p.total(p.values)),
    Aggregate("count_50", "number with P(BAD) > .5", "places", lambda p: p.total(p.values > 0.5)),
    Aggregate("longest_run", "most neighbours in a row with P(BAD) > .4", "places",
        lambda p: longest_run(p.values > 0.4, p.offsets)),
)  # fmt: skip


def aggregate(probability: Floats, offsets: Longs) -> Floats:
    """The aggregates (n, 16) of every text; NaN for a text without tokens."""
    given = Probabilities(np.asarray(probability, np.float64), np.asarray(offsets, np.int64))
    result = np.column_stack([a.compute(given) for a in AGGREGATES]).astype(np.float64, copy=False)
    result[np.diff(given.offsets) == 0] = np.nan
    return result


_ORIGIN = "this project; synthetic data as in Tuan et al. 2021, section 3"
_LEARNED = "learned from parallel text alone, no human label; NaN for an empty translation"


@dataclass(frozen=True, eq=False)
class JudgedWords(TokenResources, Extractor):
    """16 aggregates of P(BAD) of the target words, and 16 of the gaps, by the first knowledge."""

    knowledge: Annotated[Sequence[Judgement], KNOWLEDGE]

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"{stem('word_quality', self.knowledge)}_{kind}_{a.name}",
                f"{kind}s: {a.description}, {_LEARNED}",
                _ORIGIN,
                a.unit,
            )
            for kind in ("word", "gap")
            for a in AGGREGATES
        ]

    def content_fingerprint(self) -> str:
        return digest(
            "token columns", COLUMNS_VERSION, *(each.content_fingerprint() for each in self.knowledge)
        )

    def table(self, segments: Segments) -> TokenTable:
        return describe(segments, self, frozenset(), decoder=False)

    def extract(self, segments: Segments) -> FloatArray:
        table = self.table(segments)
        words, gaps = self.knowledge[0].judged(table)
        result = np.hstack([aggregate(words, table.offsets), aggregate(gaps, table.gap_offsets)])
        result[np.diff(table.offsets) == 0] = np.nan
        return result
