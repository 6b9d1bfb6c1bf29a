"""Flags: all checks that can be made for a pair of languages, with what is known of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from features.resources.lexicon import Lexicon
from qe.models.model import Model
from qe.scoring.check import CHECKS, Check, Knowledge, Pair

_PART = "lexicon_source_to_target"


@dataclass(frozen=True, eq=False)
class Flags:
    """checks: by kind; lacking: kind -> why it cannot be checked."""

    checks: Mapping[str, Check]
    lacking: Mapping[str, str]

    @classmethod
    def make(cls, knowledge: Knowledge, kinds: Iterable[str] | None = None) -> Self:
        """All kinds, or those named. Raises InputError for an unknown kind."""
        names = CHECKS.names if kinds is None else tuple(kinds)
        checks = {name: CHECKS.get(name)(knowledge) for name in names}
        lacking = {name: check.lacks for name, check in checks.items() if check.lacks}
        return cls({name: check for name, check in checks.items() if name not in lacking}, lacking)

    @classmethod
    def of(cls, model: Model) -> Self:
        """With a model's languages, and its lexicon if it has one."""
        bundle = model.bundle
        part = bundle.part(_PART) if bundle is not None and _PART in bundle.manifest["parts"] else None
        source, target = (tokenizer.language for tokenizer in model.tokenizers)
        return cls.make(Knowledge((source, target), part if isinstance(part, Lexicon) else None))

    def words(self, source: str, target: str) -> dict[str, tuple[str, ...]]:
        """Kind -> the words concerned, of the errors that are seen."""
        pair = Pair(source, target)
        return {name: words for name, check in self.checks.items() if (words := check.words(pair))}

    def text(self, source: str, target: str) -> str:
        """The same as one text, such as `negation: nicht; numbers: 15, 50`; empty without errors."""
        return "; ".join(f"{name}: {', '.join(words)}" for name, words in self.words(source, target).items())


def kinds_of(text: str | None) -> tuple[str, ...]:
    """The kinds that `Flags.text` names.

    >>> kinds_of("negation: nicht; numbers: 15, 50"), kinds_of(None)
    (('negation', 'numbers'), ())
    """
    parts = (part.partition(": ")[0] for part in (text or "").split("; "))
    return tuple(part for part in parts if part in CHECKS.names)
