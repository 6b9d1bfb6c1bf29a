"""Classes with settings: mistakes in settings, the parts they need, making objects.

A field of such a dataclass that is annotated with a Resource class is filled with a part of a bundle, a field
`Annotated[Sequence[X], CATALOGUE]` with objects made from names or mappings with a `kind` and its settings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, did_you_mean, quoted
from features.basics.hints import described, mistakes
from features.core.bundle import RESOURCES, Bundle, known_parts, resource_parameters
from features.core.resource import Resource, kind_of


@dataclass(frozen=True)
class PartName:
    """A note on a field: `part_name` gives the part that fills it, from the object's settings."""

    part_name: Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Configured:
    """A class with settings; messages begin with its `label`, such as `extractor 'lm'`."""

    kind: type[Any]
    settings: Mapping[str, Any]
    label: str
    config: Mapping[str, Any] = field(default_factory=dict)  # as an experiment has it

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # not what it looked up

    def errors(self) -> Iterator[InputError]:
        """All mistakes in the settings: unknown names, types, ranges, missing ones."""
        known = [entry.name for entry in self._fields]
        if "only" in self.config:
            yield from type_errors(self.config["only"], list[str], "only", self.label)
        for key, value in self.settings.items():
            if key not in known:
                yield InputError(
                    f"{self.label} has no parameter '{key}'",
                    remedy=f"known: {', '.join(known)}{did_you_mean(str(key), known)}",
                )
            elif key in self.lists:
                yield from self._errors_of_list(key, value)
            else:
                hint = str if key in self._resources else self._hints[key]
                yield from type_errors(value, hint, key, self.label)
        for entry in self._fields:
            optional = entry.default is not MISSING or entry.default_factory is not MISSING
            if not (optional or entry.name in self._resources or entry.name in self.settings):
                yield InputError(
                    f"'{entry.name}' is needed: {described(self._hints[entry.name])}", location=self.label
                )

    def parts(self) -> Iterator[str]:
        """Names of the parts that it takes by its settings; raises InputError for a part of another kind."""
        for name in self._resources:
            part = self._part(name)
            if name in self.settings and part in known_parts():
                self._check_part(name, part, RESOURCES.get(known_parts()[part].kind))
            yield part
        for inner in self.within():
            yield from inner.parts()

    def requires(self) -> tuple[str, ...]:
        """Optional columns of segments that it requires, by settings alone."""
        return tuple(getattr(self.unmade(), "requires", tuple)())

    def unmade(self) -> Any:
        """The object by settings alone, without resources; a default is an attribute of the class."""
        unmade = object.__new__(self.kind)
        for entry in fields(self.kind) if is_dataclass(self.kind) else ():
            if entry.name in self.lists and entry.name in self.settings:
                vars(unmade)[entry.name] = tuple(each.unmade() for each in self.inner(entry.name))
            elif entry.name in self.settings and entry.name not in self._resources:
                vars(unmade)[entry.name] = self.settings[entry.name]
            elif entry.default_factory is not MISSING:
                vars(unmade)[entry.name] = entry.default_factory()
        return unmade

    def make(self, bundle: Bundle | None) -> Any:
        """The object, with parts from the bundle; raises InputError if the bundle lacks them."""
        arguments = dict(self.settings)
        for name in self._resources:
            if bundle is None:
                raise InputError(
                    f"{self.label} needs the resource '{name}'",
                    remedy="name a bundle by --resources; in an experiment, a corpus or bundle under "
                    "`resources`",
                )
            arguments[name] = bundle.part(self._part(name))
            self._check_part(name, self._part(name), type(arguments[name]))
        for name in self.lists.keys() & self.settings.keys():
            arguments[name] = tuple(inner.make(bundle) for inner in self.inner(name))
        try:
            return self.kind(**arguments)
        except TypeError as error:
            raise InputError(f"{self.label}: {error}") from None

    def within(self) -> list["Configured"]:
        return [inner for name in self.lists for inner in self.inner(name)]

    @cached_property
    def _fields(self) -> list[Field[Any]]:
        return [entry for entry in fields(self.kind) if entry.init] if is_dataclass(self.kind) else []

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.kind, include_extras=True)

    @cached_property
    def _resources(self) -> tuple[str, ...]:
        return resource_parameters(self.kind)

    @cached_property
    def lists(self) -> dict[str, Catalogue[Any]]:
        notes = {entry.name: _note(self._hints[entry.name], Catalogue) for entry in self._fields}
        return {name: note for name, note in notes.items() if note is not None}

    def inner(self, name: str) -> list["Configured"]:
        catalogue = self.lists[name]
        entries = [_as_mapping(entry) for entry in self.settings.get(name, ())]
        return [
            Configured(
                catalogue.get(entry["kind"]),
                {key: value for key, value in entry.items() if key != "kind"},
                f"{self.label}, {catalogue.noun} '{entry['kind']}'",
            )
            for entry in entries
        ]

    def _errors_of_list(self, name: str, value: Any) -> Iterator[InputError]:
        catalogue = self.lists[name]
        if not isinstance(value, list | tuple):
            yield InputError(
                f"'{name}' must be a list of names, but got {quoted(value)}", location=self.label
            )
            return
        kinds = [_as_mapping(entry).get("kind") for entry in value]
        for number, kind in enumerate(kinds):
            if not isinstance(kind, str):
                yield InputError(
                    f"'{name}.{number}' must be a name, but got {quoted(value[number])}",
                    location=self.label,
                    remedy=f"known: {', '.join(catalogue.names)}",
                )
            elif kind in kinds[:number]:
                yield InputError(f"'{name}' has '{kind}' twice", location=self.label)
            elif kind not in catalogue:
                yield InputError(f"'{name}.{number}': {catalogue.unknown(kind)}", location=self.label)
        if all(isinstance(kind, str) and kind in catalogue for kind in kinds):
            for inner in self.inner(name):
                yield from inner.errors()

    def _part(self, name: str) -> str:
        note: PartName | None = _note(self._hints[name], PartName)
        if name in self.settings or note is None:
            return str(self.settings.get(name, name))
        defaults = {entry.name: entry.default for entry in self._fields if entry.default is not MISSING}
        return str(note.part_name({**defaults, **self.settings}))

    def _check_part(self, parameter: str, part: str, actual: type[Resource]) -> None:
        wanted = get_type_hints(self.kind)[parameter]
        if not issubclass(actual, wanted):
            fitting = [name for name, p in known_parts().items() if RESOURCES.get(p.kind) is wanted]
            raise InputError(
                f"'{parameter}' must be a part of kind {kind_of(wanted)}, "
                f"but '{part}' is of kind {kind_of(actual)}",
                location=self.label,
                remedy=f"known: {', '.join(sorted(fitting))}",
            )


def resources_in(instance: Any) -> list[Resource]:
    if isinstance(instance, Resource):
        return [instance]
    entries = [entry for entry in fields(instance) if entry.init] if is_dataclass(instance) else []
    values = instance if isinstance(instance, tuple) else [getattr(instance, e.name) for e in entries]
    return [resource for value in values for resource in resources_in(value)]


def type_errors(value: Any, hint: Any, name: str, location: str) -> Iterator[InputError]:
    for place, label in mistakes(value, hint, name):
        yield InputError(f"'{place}' {label}", location=location)


def _as_mapping(entry: Any) -> Mapping[str, Any]:
    return entry if isinstance(entry, Mapping) else {"kind": entry}


def _note(hint: Any, kind: type[Any]) -> Any:
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((note for note in notes if isinstance(note, kind)), None)
