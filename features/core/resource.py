"""Resource: built from a corpus, saved to a directory, loaded (memory-mapped) by extractors."""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, cast, final, get_type_hints

from features.basics.hints import mistakes
from features.basics.progress import Progress, silent
from features.core.resource_files import load_fields, save_fields
from features.storage.damage import Damaged
from features.storage.files import digest
from features.text.corpus import ParallelCorpus

Parts = Mapping[str, Mapping[str, Any]]  # name of a part -> its settings


class OnlyForParts:
    """A note on a builder's setting: it applies only to parts built from one of the named parts."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts


@dataclass(frozen=True, kw_only=True)
class Builder(ABC):
    """Builds one kind of resource: its fields are settings, and parts of the same bundle.

    A field annotated with a Resource class is another part, passed loaded; `parts` of the kind may name it.
    One annotated with a Resource class or None is passed for those of the kind's `parts` that name it. A
    field `scratch: Path | None` is given an empty folder that exists as long as the build.
    """

    @abstractmethod
    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Resource":
        """Builds the resource from a corpus."""

    @property
    def settings(self) -> dict[str, Any]:
        recorded: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Resource):
                recorded[entry.name] = value.fingerprint
            elif is_dataclass(value) and not isinstance(value, type):
                recorded |= asdict(value)
            elif not isinstance(value, Path | None):
                recorded[entry.name] = value
        return recorded


@dataclass(frozen=True, eq=False, kw_only=True)
class Resource(ABC):
    """One part of a bundle; its module's name is its kind, its fields are its content.

    `parts` names the parts of this kind that a bundle has, with the settings that `builder` takes for each.
    `settings` (how it was built, JSON values) and `corpus_fingerprint` (from what) identify it.
    """

    version: ClassVar[int] = 1  # of content and layout: a part built by another version is built again
    older: ClassVar[frozenset[int]] = frozenset()  # versions that are still loaded, from saved models
    parts: ClassVar[Parts]
    builder: ClassVar[type[Builder]]
    settings: Mapping[str, Any]
    corpus_fingerprint: str
    _built_by: int | None = field(default=None, repr=False)  # the older version, if one built it

    @final
    @classmethod
    def build(cls, corpus: ParallelCorpus, *, progress: Progress = silent, **settings: Any) -> Self:
        return cast(Self, cls.builder(**settings).build(corpus, progress))

    def with_settings(self, **added: Any) -> Self:
        return replace(self, settings={**self.settings, **added})

    @final
    def built_by(self, version: int) -> Self:
        """The same resource, whose fingerprint is that of the version that built it."""
        return self if version == self.version else replace(self, _built_by=version)

    def save(self, path: Path) -> None:
        """Writes into the existing empty directory `path` (the bundle makes that atomic)."""
        save_fields(path, self)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Loads what `save` wrote; arrays memory-mapped."""
        return load_fields(path, cls)

    def for_scoring(self) -> Self:
        """The resource that a loaded model scores with: this one, or an equivalent faster one."""
        return self

    @final
    def check_stored(self) -> None:
        """Raises Damaged if `builder` does not take the settings, or arrays are not sound."""
        self.check_settings()
        self.check_arrays()

    @final
    def check_settings(self) -> None:
        """Raises Damaged if `builder` does not take a recorded setting, by type or range."""
        for name, hint in _setting_hints(self.builder):
            if name in self.settings:
                for place, mistake in mistakes(self.settings[name], hint, name):
                    raise Damaged(f"its setting `{place}` {mistake}")

    def check_arrays(self) -> None:  # noqa: B027  (a kind without compiled code has nothing to check)
        """Raises Damaged if compiled code would read outside of an array; called once after loading."""

    @property
    def fingerprint(self) -> str:
        return digest(
            "features.resources." + kind_of(type(self)),  # the same wherever a kind's file lies
            self._built_by or self.version,
            json.dumps(dict(self.settings), sort_keys=True),
            self.corpus_fingerprint,
        )


def _setting_hints(builder: type[Any]) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(builder, include_extras=True)
    for entry in fields(builder):
        hint = hints[entry.name]
        if is_dataclass(hint) and isinstance(hint, type) and not issubclass(hint, Resource):
            yield from _setting_hints(hint)
        else:
            yield entry.name, hint


def kind_of(resource: type[Resource]) -> str:
    return resource.__module__.rpartition(".")[2]


def declaration(make: Callable[..., Any]) -> Callable[..., Any]:
    """The callable that declares the parameters of `make`: itself, or the builder of a kind's own `build`."""
    inner = inspect.unwrap(make.func if isinstance(make, partial) else make)
    kind = getattr(inner, "__self__", None)
    return kind.builder if inspect.isclass(kind) and issubclass(kind, Resource) else inner
