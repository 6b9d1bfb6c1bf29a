"""Knowledge: inputs of models of words in addition to the text."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.resource import Resource
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.storage.files import digest
from features.word_level.network import Matrix
from features.word_level.pooling import Parameters
from features.word_level.tokens import COLUMNS_VERSION, TokenResources, TokenTable


@dataclass(frozen=True, eq=False)
class DescribedSegments:
    """Segments whose words are described.

    aligner      links their words
    is_training  whether they are the training segments
    """

    segments: Segments
    aligner: Aligner
    is_training: bool = False


class Knowledge:
    """One kind of knowledge; subclasses are dataclasses of its settings and resources. A field annotated with
    a Resource class is filled with the part of that name from the bundle.
    """

    kind: ClassVar[str]  # its name: that of its module, unless `knowledge` registers another

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__module__.rpartition(".")[2]

    def requires(self) -> tuple[str, ...]:
        """Optional columns of Segments that it cannot do without."""
        return ()

    def content_fingerprint(self) -> str:
        """Fingerprint of the files that it reads itself."""
        return ""

    def identity(self) -> tuple[Hashable, ...]:
        """What it is without its resources: kind, settings, content."""
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
        outcomes  (n, m) what the networks learn, standardised
        """
        return ()


class LearnedKnowledge(TokenKnowledge):
    """Columns that are learned from the training segments first, without their labels."""

    @abstractmethod
    def fit(self, segments: Segments, aligner: Aligner) -> Self:
        """A copy that has learned; `aligner` links words."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes what was learned into the directory `path`, without pickle."""

    @abstractmethod
    def restore(self, path: Path) -> Self:
        """A copy with what `save` wrote."""


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
    """The kinds of knowledge in settings that judge words without labels. Raises InputError if one is
    combined with another kind.
    """
    listed = settings.get("knowledge", ())
    kinds = [entry.get("kind") if isinstance(entry, Mapping) else entry for entry in listed]
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


def refuse_judgements(family: str, settings: Mapping[str, Any]) -> None:
    for kind in judgements(settings):
        known = (name for name in KNOWLEDGE.names if not issubclass(KNOWLEDGE.get(name), Judgement))
        raise InputError(
            f"'{family}' learns from labels, but `{kind}` judges words without any",
            location="knowledge",
            remedy=f"known here: {', '.join(known)}",
        )
