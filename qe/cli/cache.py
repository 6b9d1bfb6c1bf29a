"""`qe cache`: how large the cache is; remove what nobody uses."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit

app = Application(default="list")


@app.callback()
def cache() -> None:
    """How large the cache of resources and features is; remove unused entries.

    Example:

        qe cache list
    """


@app.command(name="list")
def list_(cache_dir: Path | None = None, json: bool = False) -> None:
    """List the entries of the cache: kind, size, and days since the last use.

    Example:

        qe cache list
    """
    from features.storage.cache_folder import default_cache
    from qe.resources.cached import cache_table, cached

    folder = cache_dir or default_cache()
    entries = cached(folder)
    content = [{"kind": e.kind, "path": e.path, "bytes": e.size, "days": e.days} for e in entries]
    shown = cache_table(folder, entries) if entries else f"{folder}: nothing is cached"
    emit("cache-list", {"folder": folder, "entries": content}, json, shown)


@app.command()
def prune(
    days: Annotated[float, typer.Option(min=0)] = 30,
    selection: list[str] | None = None,
    dry_run: bool = False,
    cache_dir: Path | None = None,
    json: bool = False,
) -> None:
    """Remove entries that have not been used for a while; they are made again when they are needed.

    Encoders stay: they are yours. Do not prune with --days 0 while another `qe` runs.

    Example:

        qe cache prune --days 90

        qe cache prune --only features --dry-run

    options:
      --days DAYS  Remove entries that have not been used for this many days.
      --only KIND  Remove entries of this kind only, such as features. Repeatable.
      --dry-run  Only show what would be removed.
    """
    from features.basics.errors import known_name
    from features.storage.cache_folder import default_cache
    from qe.display.numbers import number
    from qe.resources.cached import KINDS, cached, old, remove

    kinds = [known_name("kind of cache", name, KINDS) for name in selection or KINDS]
    folder = cache_dir or default_cache()
    entries = old(cached(folder, kinds), days)
    size = sum(entry.size for entry in entries) if dry_run else remove(entries)
    removed = 0 if dry_run else len(entries)
    content = {"folder": folder, "removed": removed, "found": len(entries), "bytes": size}
    action = "would be removed" if dry_run else "removed"
    shown = f"{folder}: {len(entries)} entries {action}, {number(size / 1e6, 1)} MB"
    emit("cache-prune", content, json, shown)
