"""Resource: built from a corpus, saved to a directory, loaded (memory-mapped) by extractors."""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast, final, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.hints import mistakes
from features.basics.progress import Progress, silent
from features.storage.damage import REBUILD, Damaged
from features.storage.files import digest, read_words, write_words
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens, Vocabulary

T = TypeVar("T")
_META = "meta.json"


class Recorded(dict[str, Any]):
    """Recorded settings of a resource; a missing key raises InputError."""

    def __missing__(self, key: str) -> Any:
        raise InputError(f"a resource is damaged: its {_META} does not say '{key}'", remedy=REBUILD)


def save_fields(path: Path, thing: Any) -> None:
    meta, arrays = dict[str, Any](), dict[str, NDArray[Any]]()
    _write(path, thing, meta, arrays)
    save_arrays(path, meta, **arrays)


def _write(path: Path, thing: Any, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for attribute, name, hint in _stored(type(thing)):
        value = getattr(thing, attribute)
        if hint is Tokens:
            write_words(path / f"{name}.txt", value.types)
            arrays |= {f"{name}_ids": value.ids, f"{name}_offsets": value.offsets}
        elif isinstance(hint, type) and is_dataclass(hint):
            _write(path, value, meta, arrays)
        elif hint is Vocabulary:
            value.save(path / f"{name}.txt")
        elif hint == tuple[str, ...]:
            write_words(path / f"{name}.txt", value)
        elif get_origin(hint) is np.ndarray:
            arrays[name] = value
        else:
            meta[name] = dict(value) if isinstance(value, Mapping) else value


def load_fields(path: Path, kind: type[T]) -> T:
    return _read(path, kind, *load_arrays(path))


def _read(path: Path, kind: type[T], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> T:
    values = dict[str, Any]()
    for attribute, name, hint in _stored(kind):
        if hint is Tokens:
            types = read_words(path / f"{name}.txt")
            values[attribute] = Tokens(types, arrays[f"{name}_ids"], arrays[f"{name}_offsets"])
        elif isinstance(hint, type) and is_dataclass(hint):
            values[attribute] = _read(path, hint, meta, arrays)
        elif hint is Vocabulary:
            values[attribute] = Vocabulary.load(path / f"{name}.txt")
        elif hint == tuple[str, ...]:
            values[attribute] = read_words(path / f"{name}.txt")
        elif get_origin(hint) is np.ndarray:
            values[attribute] = arrays[name]
        else:
            for place, mistake in mistakes(meta[name], hint, name):
                raise Damaged(f"`{place}` in {_META} {mistake}")
            make = {Mapping: Recorded, tuple: tuple}.get(get_origin(hint))
            values[attribute] = make(meta[name]) if make else meta[name]
    return kind(**values)


def _stored(kind: Any) -> Iterator[tuple[str, str, Any]]:
    hints = get_type_hints(kind)
    for entry in fields(kind):
        if not entry.name.startswith("_"):
            yield entry.name, entry.metadata.get("stored", entry.name), hints[entry.name]


def save_arrays(path: Path, meta: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    """Writes `meta.json` and one .npy file per array into the directory `path`."""
    (path / _META).write_text(json.dumps(dict(meta), indent=1, sort_keys=True), "utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def load_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Loads the output of `save_arrays`; arrays memory-mapped, read-only."""
    meta = json.loads((path / _META).read_text("utf-8"))
    arrays = {
        f.stem: np.load(f, mmap_mode="r" if f.stat().st_size > 128 + 64 else None, allow_pickle=False)
        for f in sorted(path.glob("*.npy"))
    }
    return meta, arrays


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
    """One part of a bundle; its kind is the name it is registered by, or its module's. Fields: content.

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
    return vars(resource).get("registered") or resource.__module__.rpartition(".")[2]


def declaration(make: Callable[..., Any]) -> Callable[..., Any]:
    """The callable that declares the parameters of `make`: itself, or the builder of a kind's own `build`."""
    inner = inspect.unwrap(make.func if isinstance(make, partial) else make)
    kind = getattr(inner, "__self__", None)
    return kind.builder if inspect.isclass(kind) and issubclass(kind, Resource) else inner
