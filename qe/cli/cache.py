"""`qe cache`: how large the cache is; remove what nobody uses."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import print_json
from qe.cli._options import CacheDir, Json

app = Application(default="list")


@app.callback()
def cache() -> None:
    """How large the cache of resources and features is; remove what nobody uses.

    Example:

        qe cache list
    """


@app.command(name="list")
def list_(cache_dir: CacheDir = None, as_json: Json = False) -> None:
    """List what lies in the cache: entries, sizes, and how long nobody has used them.

    Example:

        qe cache list
    """
    from features.storage.cache_folder import default_cache
    from qe.display.terminal import show
    from qe.resources.cached import cache_table, cached

    folder = cache_dir or default_cache()
    entries = cached(folder)
    if as_json:
        told = [{"kind": e.kind, "path": str(e.path), "bytes": e.size, "days": e.days} for e in entries]
        print_json("cache-list", {"folder": str(folder), "entries": told})
    elif entries:
        show(cache_table(folder, entries))
    else:
        print(f"{folder}: nothing is cached")


@app.command()
def prune(
    days: Annotated[
        float, typer.Option(min=0, metavar="DAYS", help="Remove what nobody has used for so long.")
    ] = 30,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KIND ...", help="Only these kinds, such as features.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed.")] = False,
    cache_dir: CacheDir = None,
    as_json: Json = False,
) -> None:
    """Remove what nobody has used for a while; all of it is made again when it is needed.

    Encoders stay: they are yours. Do not prune with --days 0 while qe works.

    Example:

        qe cache prune --days 90

        qe cache prune --only features --dry-run
    """
    from features.basics.errors import known_name
    from features.storage.cache_folder import default_cache
    from qe.display.numbers import number
    from qe.resources.cached import KINDS, cached, old, remove

    kinds = [known_name("kind of cache", name, KINDS) for name in only or KINDS]
    folder: Path = cache_dir or default_cache()
    entries = old(cached(folder, kinds), days)
    size = sum(entry.size for entry in entries) if dry_run else remove(entries)
    if as_json:
        told = {"removed": 0 if dry_run else len(entries), "found": len(entries), "bytes": size}
        print_json("cache-prune", {"folder": str(folder), **told})
    else:
        what = "would be removed" if dry_run else "removed"
        print(f"{folder}: {len(entries)} entries {what}, {number(size / 1e6, 1)} MB")
