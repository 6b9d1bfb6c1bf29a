"""Parts of bundles: what a user may set of each, checked before anything is built, and tables of them."""

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_origin, get_type_hints

from annotated_types import Ge

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean
from features.basics.hints import described
from features.basics.hints import parsed as parsed_value
from features.core.bundle import Builders, Part, builder_of, known_parts, unknown_part
from features.core.resource import OnlyForParts, declaration
from qe.config.experiment import ResourcesSection
from qe.display.numbers import NumberText, count, number
from qe.display.table import Column, Table

PartSettings = Mapping[str, Mapping[str, Any]]  # part -> setting -> value

# What the name of a part says: another value would make it another part.
_RENAMED = {"most": "max_words"}  # settings of 0.2
_IN_THE_NAME = ("side", "direction", "given", "other", "quarter", "units", "holds")
_SIMPLE = (bool, int, float, str)


@dataclass(frozen=True)
class Setting:
    """A parameter of what makes a part: its type with its range, and its value where nothing is set."""

    hint: Any
    default: Any

    @property
    def takes(self) -> str:
        return described(self.hint)

    def value(self, raw: Any) -> Any:
        """The value in its type, from text or YAML; raises ValueError for what it does not take.

        >>> Setting(Literal["lower", "true"], "lower").value(True)  # how YAML reads the word
        'true'
        """
        return parsed_value(str(raw).lower() if isinstance(raw, bool) else raw, self.hint)


def settings_of(part: Part, builders: Builders) -> dict[str, Setting]:
    builder = builder_of(part.name, part.kind, builders)
    make, fixed = declaration(builder), getattr(builder, "keywords", {})
    hints, bounded = get_type_hints(make), get_type_hints(make, include_extras=True)
    settings = {}
    for name, parameter in inspect.signature(make).parameters.items():
        hint = hints.get(name)
        simple = hint in _SIMPLE or get_origin(hint) is Literal
        settable = simple and name not in (*_IN_THE_NAME, *fixed) and parameter.kind is parameter.KEYWORD_ONLY
        if settable and _counts(bounded[name], part):
            own = Annotated[hint, Ge(0)] if bounded[name] in (int, float) else bounded[name]
            settings[name] = Setting(own, part.settings.get(name, parameter.default))
    return settings


def _counts(hint: Any, part: Part) -> bool:
    notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, OnlyForParts)]
    return all(set(note.parts) & part.needs.keys() for note in notes)


def checked(part_settings: PartSettings, builders: Builders) -> dict[str, dict[str, Any]]:
    """The settings that differ from what parts have anyway, in their types."""
    parts = known_parts(builders)
    by_part: dict[str, dict[str, Any]] = {}
    for name, settings in part_settings.items():
        if name not in parts:
            raise unknown_part(name)
        known = settings_of(parts[name], builders)
        for old in settings.keys() & _RENAMED.keys() - known.keys():
            warnings.warn(f"resources: `{name}.{old}` is `{_RENAMED[old]}` now", FutureWarning, stacklevel=2)
            settings = {_RENAMED.get(key, key): value for key, value in settings.items()}
        values = {key: _value(name, key, value, known) for key, value in settings.items()}
        different = {key: value for key, value in values.items() if value != known[key].default}
        if different:
            by_part[name] = different
    return by_part


def _value(part: str, key: str, raw: Any, settings: Mapping[str, Setting]) -> Any:
    if key not in settings:
        takes = ", ".join(f"{name} ({setting.takes})" for name, setting in settings.items())
        raise InputError(
            f"the part '{part}' has no setting '{key}'",
            remedy=f"it takes {takes or 'none'}{did_you_mean(key, settings)}",
        )
    try:
        return settings[key].value(raw)
    except ValueError:
        raise InputError(f"{part}.{key} takes {settings[key].takes}, but got {raw!r}") from None


def parsed(pairs: Iterable[str]) -> dict[str, dict[str, str]]:
    """Part -> setting -> text, from `PART.key=value`."""
    texts: dict[str, dict[str, str]] = {}
    for name, value in assignments(pairs, "PART.key=value", "--set").items():
        part, _, key = name.partition(".")
        if not (part and key):
            raise InputError(
                f"expected PART.key=value, but got '{name}={value}'",
                location="--set",
                remedy="such as target_lm.order=4; `qe resources list` shows parts and settings",
            )
        texts.setdefault(part, {})[key] = value
    return texts


def catalogue() -> list[dict[str, Any]]:
    """Every part: name, kind, sources, and settings with their accepted values and defaults."""
    return [
        {
            "name": part.name,
            "kind": part.kind,
            "needs": sorted(set(part.needs.values())),
            "settings": {
                key: {"takes": setting.takes, "default": setting.default}
                for key, setting in settings_of(part, {}).items()
            },
        }
        for part in known_parts().values()
    ]


def check_section(section: ResourcesSection | None, parts: Sequence[str], place: str = "resources") -> None:
    """Raises InputError if parts are needed, and the section does not name their origin."""
    if parts and section is None:
        raise InputError(
            f"the features need {', '.join(parts)}",
            location=place,
            remedy="name a parallel corpus (source, target) or a bundle built by `qe resources build`",
        )
    if parts and section is not None and section.incomplete:
        raise InputError("needs both source and target, or a bundle", location=place)


def catalogue_table(parts: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for part in parts:
        defaults = {name: entry["default"] for name, entry in part["settings"].items()}
        settings = [
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in defaults.items()
        ]
        rows.append([part["name"], ", ".join(part["needs"]) or "the corpus", ", ".join(settings)])
    return Table(f"{len(parts)} parts", [Column("part"), Column("built from"), Column("settings")], rows)


def bundle_table(name: str, manifest: Mapping[str, Any]) -> Table:
    source, target = (count(manifest[f"{side}_tokens"]) for side in ("source", "target"))
    title = (
        f"{name}: {count(manifest['pairs'])} pairs, {source} + {target} tokens, "
        f"{count(manifest['empty_pairs'])} empty pairs skipped"
    )
    columns = [Column("part"), Column("kind", drop=1), Column("seconds"), Column("CPU seconds"), Column("MB")]
    rows = []
    for name, part in manifest["parts"].items():
        took = [NumberText(str(part[key]), value=part[key]) for key in ("seconds", "cpu_seconds")]
        rows.append([name, str(part["kind"]), *took, number(int(part["bytes"]) / 1e6, 1)])
    return Table(title, columns, rows)
