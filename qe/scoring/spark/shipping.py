"""Shipping: send a folder or file to every executor once.

It is memory-mapped there.
"""

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from features.storage.files import digest


def ship_folder(session: Any, folder: Path) -> str:
    """Send a folder to every executor; returns its name for `shipped`.

    It goes as an archive of Spark's, unpacked once there.

    A folder with the same files is sent once in a session.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    stamps = [(str(f.relative_to(folder)), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    name = f"qe-{digest(stamps)}"
    context = session.sparkContext
    if any(name in archive for archive in context.listArchives):
        return name
    # Kept until the session ends: Spark's file server reads it whenever an executor joins.
    directory = Path(context._temp_dir)
    with (
        tempfile.NamedTemporaryFile(dir=directory, suffix=".zip", delete=False) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive,
    ):
        # Stored, not deflated: the content is mostly numbers, and both ends would wait for it.
        for file in files:
            archive.write(file, file.relative_to(folder))
    context.addArchive(f"{stream.name}#{name}")
    return name


def shipped(name: str) -> Path:
    """Path of a shipped folder or file on this executor."""
    from pyspark import SparkFiles

    return Path(SparkFiles.get(name))
