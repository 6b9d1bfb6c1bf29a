"""Parts of bundles as tables: those that can be built, and those of a bundle."""

from collections.abc import Mapping, Sequence
from typing import Any

from qe.display.numbers import NumberText, count, number
from qe.display.table import Column, Table


def catalogue_table(parts: Sequence[Mapping[str, Any]]) -> Table:
    """Every part with what it is built from, and its settings as --set takes them."""
    rows = []
    for part in parts:
        settings = [f"{name}={_plain(entry['default'])}" for name, entry in part["settings"].items()]
        rows.append([part["name"], ", ".join(part["needs"]) or "the corpus", ", ".join(settings)])
    return Table(f"{len(parts)} parts", [Column("part"), Column("built from"), Column("settings")], rows)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def bundle_table(name: str, manifest: Mapping[str, Any]) -> Table:
    """The parts of a bundle, and what they took."""
    source, target = (count(manifest[f"{side}_tokens"]) for side in ("source", "target"))
    title = (
        f"{name}: {count(manifest['pairs'])} pairs, {source} + {target} tokens, "
        f"{count(manifest['empty_pairs'])} empty pairs skipped"
    )
    columns = [Column("part"), Column("kind", drop=1), Column("seconds"), Column("CPU seconds"), Column("MB")]
    return Table(title, columns, [_part(name, part) for name, part in manifest["parts"].items()])


def _part(name: str, part: Mapping[str, Any]) -> list[str]:
    took = [NumberText(str(part[key]), value=part[key]) for key in ("seconds", "cpu_seconds")]
    return [name, str(part["kind"]), *took, number(int(part["bytes"]) / 1e6, 1)]
