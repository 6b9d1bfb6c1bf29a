"""Public datasets: downloaded, checksum-verified, resumable."""

import hashlib
import json
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from http.client import HTTPException
from importlib import resources
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file, resolved, sha256

BASE_URL = "https://raw.githubusercontent.com"
ORIGIN = "origin.json"  # in the folder of a dataset: its name, address and terms, and what was recorded
_CHUNK = 1 << 16
_TIMEOUT = 60  # seconds without an answer
_LARGEST = 1 << 28  # bytes of one archive member
_REMEDY = "fetch the dataset again into another folder"
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, RuntimeError, EOFError, OSError, zlib.error, Damaged)
Files = tuple[tuple[str, str], ...]  # (SHA-256, path)


@dataclass(frozen=True)
class Download:
    """A file or archive (.tar.gz, .zip) under the base URL, with checksums of its files if published."""

    url: str
    files: Files = ()
    into: str = ""


@dataclass(frozen=True)
class PublicDataset:
    """A public dataset: files, licence terms, `dataset.format` (empty if undocumented) and web page."""

    downloads: tuple[Download, ...]
    terms: str
    format: str
    source: str = ""


def dataset(name: str, pairs: Sequence[str] = ()) -> PublicDataset:
    """The dataset of a name with these language pairs, by default its usual ones."""
    if name in BY_HAND:
        raise InputError("is not fetched", location=name, remedy=BY_HAND[name])
    known_name("public dataset", name, catalogue())
    entry = catalogue()[name]
    for pair in pairs:
        known_name("language pair", pair, entry["pairs"], location=name)
    chosen = pairs or entry.get("usual", entry["pairs"])
    downloads = tuple(download for pair in chosen for download in _downloads(entry, pair))
    return PublicDataset(downloads, entry["terms"], entry["format"], entry["source"])


def fetch(
    name: str,
    output: Path,
    *,
    pairs: Sequence[str] = (),
    base_url: str = BASE_URL,
    progress: Progress = silent,
) -> tuple[list[Path], list[Path]]:
    """Downloads a public dataset to `output`; returns (written files, files that existed already).

    An interrupted download continues. Checksums that are not published are recorded in `origin.json`.
    Raises InputError for an unknown name, a server that does not answer, unexpected content, and an existing
    file with other content, which is never replaced.
    """
    public = dataset(name, pairs)
    if not base_url.startswith(("http://", "https://")):
        raise InputError(f"the base URL must begin with http:// or https://, but got '{base_url}'")
    recorded = _recorded(output)
    wanted = [replace(each, files=each.files or recorded.get(each.url, ())) for each in public.downloads]
    written: list[Path] = []
    kept: list[Path] = []
    for done, download in enumerate(wanted):
        progress(f"checking {name}", done, len(wanted))
        _check_unchanged(name, download.files, output)
    for done, download in enumerate(wanted):
        progress(f"fetching {name}", done, len(wanted))
        missing = [(sum_, file) for sum_, file in download.files if not _has_checksum(output / file, sum_)]
        kept += [output / file for sum_, file in download.files if (sum_, file) not in missing]
        if missing or not download.files:
            todo = replace(download, files=tuple(missing))
            files = _land(name, todo, output, base_url.rstrip("/"), progress)
            written += [output / file for _, file in missing or files]
            if not download.files:
                recorded[download.url] = files
                _write_origin(name, public, output, recorded)
    _write_origin(name, public, output, recorded)
    progress(f"fetching {name}", len(wanted), len(wanted))
    return written, kept


def terms_of(path: Path) -> str:
    """Name, terms and address of the fetched public dataset around a path; empty if none."""
    for folder in (path, *resolved(path).parents[:3]):
        if (folder / ORIGIN).is_file():
            content = read_json("what is known of the dataset", folder / ORIGIN, _REMEDY)
            with damage_reported("what is known of the dataset", folder / ORIGIN, _REMEDY):
                return f"{content['name']}: {content['terms']} ({content['source']})"
    return ""


def _recorded(output: Path) -> dict[str, Files]:
    if not (output / ORIGIN).is_file():
        return {}
    content = read_json("what is known of the dataset", output / ORIGIN, _REMEDY)
    with damage_reported("what is known of the dataset", output / ORIGIN, _REMEDY):
        return {
            str(url): tuple((str(sum_), str(_inside(file))) for sum_, file in files)
            for url, files in content["recorded"].items()
        }


def _write_origin(name: str, public: PublicDataset, output: Path, recorded: Mapping[str, Files]) -> None:
    content = {"name": name, "source": public.source, "terms": public.terms, "recorded": recorded}
    with atomic_file(output / ORIGIN) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _check_unchanged(name: str, files: Files, output: Path) -> None:
    for sum_, file in files:
        path = output / file
        if (path.exists() or path.is_symlink()) and not _has_checksum(path, sum_):
            raise InputError(
                f"is there, and not as '{name}' publishes it",
                location=path,
                remedy="move it away, or choose another --output",
            )


def _has_checksum(path: Path, checksum: str) -> bool:
    return path.is_file() and sha256(path) == checksum


def _land(name: str, download: Download, output: Path, base_url: str, progress: Progress) -> Files:
    """Writes the files with known checksums, or all if none is known; returns them with their checksums."""
    url, wanted = f"{base_url}/{download.url}", dict(download.files)
    part = output / ".download" / f"{hashlib.sha256(download.url.encode()).hexdigest()[:16]}.part"
    _download(url, part, progress)
    found: list[tuple[str, str, bytes]] = []
    try:
        for file, content in _archive_files(part, download):
            sum_ = hashlib.sha256(content).hexdigest()
            if sum_ in wanted:
                found.append((sum_, wanted.pop(sum_), content))
            elif not download.files:
                found.append((sum_, str(_inside(file)), content))
    except _DAMAGE as error:
        part.unlink()
        raise InputError(f"damaged archive ({error})", location=url, remedy="run the command again") from None
    files = tuple((sum_, file) for sum_, file, _ in found)
    _check_unchanged(name, files, output)
    for _, file, content in found:
        with atomic_file(output / file) as temporary:
            temporary.write_bytes(content)
    part.unlink()
    if not any(part.parent.iterdir()):
        part.parent.rmdir()
    if wanted:
        raise InputError(
            f"no content with the expected checksum for {', '.join(wanted.values())}",
            location=url,
            remedy="the file was damaged on the way, or changed at its source",
        )
    return files


def _archive_files(part: Path, download: Download) -> Iterator[tuple[str, bytes]]:
    if not download.url.endswith((".tar.gz", ".zip")):
        yield f"{download.into}/{PurePosixPath(download.url).name}", part.read_bytes()
        return
    found = [(PurePosixPath(name), content) for name, content in _members(part, download.url)]
    wanted = [
        (place, content)
        for place, content in found
        if not (place.name.startswith("._") or place.parts[0] == "__MACOSX")
    ]
    outermost = {place.parts[:-1][:1] for place, _ in wanted}  # () for a file in no folder
    shared = len(outermost) == 1 and () not in outermost
    for place, content in wanted:
        inner = PurePosixPath(*place.parts[1:]) if shared else place
        yield f"{download.into}/{inner}", content


def _inside(file: str) -> PurePosixPath:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts:
        raise Damaged(f"its path leads to {file}, outside its folder")
    return path


def _members(archive: Path, url: str) -> Iterator[tuple[str, bytes]]:
    if url.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir() and entry.file_size <= _LARGEST:
                    yield entry.filename, zipped.read(entry)
        return
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            stream = members.extractfile(member) if member.isreg() and member.size <= _LARGEST else None
            if stream is not None:
                yield member.name, stream.read()


def _download(url: str, part: Path, progress: Progress) -> None:
    part.parent.mkdir(parents=True, exist_ok=True)
    received = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={received}-"} if received else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            done = received if answer.status == 206 else 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with part.open("ab" if done else "wb") as stream:
                while chunk := answer.read(_CHUNK):
                    stream.write(chunk)
                    done += len(chunk)
                    progress(url.rsplit("/", 1)[-1], done, total)
            if total is not None and done < total:
                raise ConnectionError(f"cut off after {done} of {total} bytes")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:  # all the bytes are there already
            raise InputError(f"the server answers {error.code} {error.reason}", location=url) from None
    except (urllib.error.URLError, TimeoutError, HTTPException, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        remedy = "run the command again: it continues the download"
        raise InputError(f"cannot be downloaded ({reason})", location=url, remedy=remedy) from None


# Public documentation names a page that leads to these files, and not their own addresses.
BY_HAND = {
    "wmt18-qe": "download sentence_level_training.tar.gz at https://hdl.handle.net/11372/LRT-2619, under the "
    "terms shown there, and unpack it; the format wmt_qe reads the folder of a language pair"
}


@cache
def catalogue() -> Mapping[str, Mapping[str, Any]]:
    content: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
        resources.files("qe.data").joinpath("public.yaml").read_text("utf-8")
    )
    return content


def _downloads(entry: Mapping[str, Any], pair: str) -> Iterator[Download]:
    for download in entry["downloads"]:
        if pair not in download.get("pairs", [pair]):
            continue
        each = download.get("each", {})
        for values in product(*each.values()):
            names = {**dict(zip(each, values, strict=True)), "pair": pair, "code": pair.replace("-", "")}
            url, into, prefix = (download.get(key, "").format(**names) for key in ("url", "into", "files"))
            sums = entry.get("checksums", {}) if prefix else {}
            files = tuple((sum_, file) for file, sum_ in sums.items() if file.startswith(prefix))
            yield Download(url, files, into)
