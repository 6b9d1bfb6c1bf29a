"""Bundle: the resources of one language pair, one directory with a manifest.json."""

import inspect
import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, NoneType
from typing import Any, get_args, get_type_hints

from filelock import FileLock, Timeout

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.basics.short_repr import short_repr
from features.core.resource import Parts, Resource, declaration, kind_of
from features.storage.cache_folder import keep, recall
from features.storage.checksums import checksums, is_sealed, regular_files, sealed, verify
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_directory, atomic_file, digest
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer

RESOURCES: Catalogue[Resource] = Catalogue("features.resources", Resource, "resource", "features.learned")
MANIFEST = "manifest.json"
LOCK = ".lock"
_CORPUS = "corpus"
_CORPUS_FILES = "corpus_files"  # key of a manifest: the checksums of the encoded corpus
_SCRATCH = "scratch"
_PLAIN = re.compile(r"[A-Za-z0-9_]+")  # names of parts, which are names of folders
_KEYS = ("provenance", "parts", "source_tokenizer", "target_tokenizer", "checksum")  # of every manifest

Builders = Mapping[str, Callable[..., Resource]]


@short_repr
@dataclass(eq=False)
class Bundle:
    """Parts by name, loaded on first use and kept.

    Raises InputError if `path` holds no manifest, or a damaged one, and if a requested part was not built
    or is damaged.

    Attributes
    ----------
    verified : mapping of str to str or None
        Checksums that the files below `path` have been compared with already (those of a model are in its
        model.json).
    """

    path: Path
    verified: Mapping[str, str] | None = None
    _loaded: dict[str, Resource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.path / MANIFEST).is_file():
            raise InputError(
                f"no {MANIFEST} here", location=self.path, remedy="build resources with `qe resources build`"
            )

    @property
    def manifest(self) -> dict[str, Any]:
        """Settings, corpus fingerprint, sizes; of each part: kind, settings, fingerprint, seconds, bytes."""
        return _read_manifest(self.path)

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """(source, target) tokenizers that the corpus was read with; segments must use the same."""
        manifest = self.manifest
        with damage_reported(f"the {MANIFEST}", self.path / MANIFEST):
            return Tokenizer(**manifest["source_tokenizer"]), Tokenizer(**manifest["target_tokenizer"])

    def require(self, names: Iterable[str]) -> None:
        """Raises InputError that lists all parts which are not here."""
        there = self.manifest["parts"]
        missing = [name for name in names if name not in there and name not in self._loaded]
        if missing:
            told = ", ".join(f"'{name}'" for name in missing)
            raise InputError(
                f"this bundle has no part{'s' * (len(missing) > 1)} {told}",
                location=self.path,
                remedy=f"it has {', '.join(sorted(there)) or 'none'}; build "
                f"{'them' if len(missing) > 1 else 'it'} with {' '.join(f'--only {m}' for m in missing)}",
            )

    def part(self, name: str) -> Resource:
        if name not in self._loaded:
            self.require([name])
            entry, folder = self.manifest["parts"][name], self.path / name
            with damage_reported(f"the part '{name}'", folder):
                kind = RESOURCES.get(entry["kind"])
                if entry.get("version") not in (kind.version, *kind.older):
                    raise InputError(
                        f"the part '{name}' was built by another version of this program",
                        location=self.path,
                        remedy="build it again (a model: train it again)",
                    )
                if self.verified is None:
                    part = load_part(folder, kind, entry["files"]).built_by(entry["version"])
                else:
                    known = {file.removeprefix(f"{name}/"): value for file, value in self.verified.items()
                             if file.startswith(f"{name}/")}  # fmt: skip
                    part = load_part(folder, kind, known, verified=True).built_by(entry["version"])
                    part = part.for_scoring()
                self._loaded[name] = part
        return self._loaded[name]

    def export(self, names: Iterable[str], directory: Path) -> None:
        """A separate bundle with copies of the named parts, without the corpus and text exports (ARPA)."""
        manifest = self.manifest
        chosen = {name: manifest["parts"][name] for name in names}
        for name in chosen:
            (directory / name).mkdir(parents=True)
            for file in regular_files(self.path / name):
                if not exported(file):
                    place = directory / name / file
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(self.path / name / file, place)
        kept = {key: value for key, value in manifest.items() if key != _CORPUS_FILES}
        _write_manifest(directory, {**kept, "parts": chosen})


@dataclass(frozen=True)
class Part:
    name: str
    kind: str
    settings: Mapping[str, Any]
    needs: Mapping[str, str]  # parameter of build -> name of the part passed to it


def known_parts(builders: Builders | None = None) -> dict[str, Part]:
    """Every part that the resource kinds declare, by name; `builders` may change what they need."""
    kinds = tuple(RESOURCES.names)
    return _parts(kinds, builders) if builders else dict(_plain_parts(kinds))


@cache
def _plain_parts(kinds: tuple[str, ...]) -> dict[str, Part]:
    return _parts(kinds, {})


def _parts(kinds: Iterable[str], builders: Builders) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for kind in kinds:
        resource = RESOURCES.get(kind)
        own = (*resource_parameters(resource.build), *optional_resources(resource.build))
        for name, settings in resource.parts.items():
            make = builder_of(name, kind, builders)
            asked = [need for need in optional_resources(make) if need in settings]
            here = {need: str(settings.get(need, need)) for need in (*resource_parameters(make), *asked)}
            plain = {key: value for key, value in settings.items() if key not in own}
            parts[name] = Part(name, kind, plain, here)
    return parts


def builder_of(name: str, kind: str, builders: Builders) -> Callable[..., Resource]:
    """The builder of a part: by its name, else by its kind, else the kind's own `build`."""
    return builders.get(name) or builders.get(kind) or RESOURCES.get(kind).build


def unknown_part(name: str) -> InputError:
    """The error for a name that no resource kind declares, with the known ones and the nearest."""
    return unknown_name("part", name, sorted(known_parts()))


def resource_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function, or fields of a dataclass, annotated with a Resource class."""
    hints, fixed = get_type_hints(declaration(function)), getattr(function, "keywords", {})
    return tuple(n for n, hint in hints.items() if n != "return" and n not in fixed and _is_resource(hint))


def _is_resource(hint: Any) -> bool:
    return inspect.isclass(hint) and issubclass(hint, Resource)


def plain_parts(kind: type[Resource]) -> Parts:
    """The parts of a kind, with their settings, that are built from the corpus alone."""
    taken = {*resource_parameters(kind.builder), *optional_resources(kind.builder)}
    return {name: settings for name, settings in kind.parts.items() if taken.isdisjoint(settings)}


def optional_resources(function: Callable[..., Any]) -> tuple[str, ...]:
    hints = {name: get_args(hint) for name, hint in get_type_hints(declaration(function)).items()}
    return tuple(name for name, kinds in hints.items() if NoneType in kinds and any(map(_is_resource, kinds)))


def with_needs(names: Iterable[str], builders: Builders | None = None) -> list[str]:
    """The named parts and all parts they are built from, in building order; raises `unknown_part`."""
    parts = known_parts(builders)
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in parts:
            raise unknown_part(name)
        for need in parts[name].needs.values():
            visit(need)
        if name not in order:
            order.append(name)

    for name in names:
        visit(name)
    return order


def build(
    corpus: Callable[[], ParallelCorpus],
    directory: Path,
    names: Iterable[str],
    *,
    provenance: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    builders: Builders = MappingProxyType({}),
    wanted: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Bundle:
    """Builds the named parts, and parts they need, that `directory` lacks. Each is written atomically.

    `builders` (kind or part -> function) replace the kinds' own `build`, with its arguments. `settings` (part
    -> arguments of `build`) go before the part's own, and are recorded as `set`. `wanted` (part -> settings
    that the built part must have).

    A part with other settings is built again, and so is what was built from it. `corpus` is called at most
    once, and only if something is missing; the encoded corpus is kept in `directory/corpus`, so that a build
    that was killed continues with the first missing part. Raises InputError if `directory` was built from
    another corpus, or cannot be made.
    """
    order = with_needs(names, builders)
    new = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made a folder ({error.strerror})", location=directory, remedy="choose another output"
        ) from None
    # One process builds; others that want the same directory wait and find the parts there.
    with _exclusive(directory, progress):
        _clear(directory)
        try:
            manifest = _open_manifest(directory, provenance or {}, corpus)
        except InputError:
            if new:
                shutil.rmtree(directory)
            raise
        parts, missing = known_parts(builders), list[str]()
        there = {name: part for name, part in manifest["parts"].items() if (directory / name).is_dir()}
        for name in order:
            current = _up_to_date(name, there, wanted.get(name, {}), settings.get(name, {}))
            if not current or any(need in missing for need in parts[name].needs.values()):
                missing.append(name)
        if missing:
            with damage_reported("the encoded corpus", directory):
                verify(directory / _CORPUS, manifest[_CORPUS_FILES])
                encoded = ParallelCorpus.load(directory / _CORPUS)
                encoded.check_arrays()
            building = [parts[name] for name in missing]
            _build_parts(encoded, directory, building, manifest, progress, builders, settings)
    return Bundle(directory)


@contextmanager
def _exclusive(directory: Path, progress: Progress) -> Iterator[None]:
    lock = FileLock(directory / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting = f"waiting for another process that builds {directory}"
        progress(waiting, 0, None)
        lock.acquire()
        progress(waiting, 1, 1)
    try:
        yield
    finally:
        lock.release()


def _up_to_date(
    name: str, built: Mapping[str, Any], wanted: Mapping[str, Any], settings: Mapping[str, Any]
) -> bool:
    part = built.get(name)
    if part is None or part["kind"] not in RESOURCES.names:
        return False
    if part.get("version") != RESOURCES.get(part["kind"]).version or part["set"] != dict(settings):
        return False
    if any(part["settings"].get(key) != value for key, value in wanted.items()):
        return False
    needs: Mapping[str, str] = part["needs"]
    return all(need in built and built[need]["fingerprint"] == made_of for need, made_of in needs.items())


def _build_parts(
    corpus: ParallelCorpus,
    directory: Path,
    parts: Sequence[Part],
    manifest: dict[str, Any],
    progress: Progress,
    builders: Builders,
    settings: Mapping[str, Mapping[str, Any]],
) -> None:
    bundle = Bundle(directory)
    for done, part in enumerate(parts):
        name = part.name
        progress(f"building {name}", done, len(parts))
        started = time.perf_counter(), time.process_time()
        needs = {parameter: bundle.part(need) for parameter, need in part.needs.items()}
        given = settings.get(name, {})
        make = builder_of(name, part.kind, builders)
        with _scratch(make, directory) as scratch, _possible(given):
            resource = make(corpus, progress=progress, **{**part.settings, **given}, **needs, **scratch)
        with atomic_directory(directory / name) as temporary:
            resource.save(temporary)
            size = sum(f.stat().st_size for f in temporary.rglob("*") if f.is_file())
        manifest["parts"][name] = {
            "kind": part.kind,
            "version": RESOURCES.get(part.kind).version,
            "set": dict(given),
            "settings": dict(resource.settings),
            "fingerprint": resource.fingerprint,
            "needs": {need: manifest["parts"][need]["fingerprint"] for need in part.needs.values()},
            "seconds": round(time.perf_counter() - started[0], 2),
            "cpu_seconds": round(time.process_time() - started[1], 2),
            "bytes": size,
            "files": part_files(directory / name),
        }
        _write_manifest(directory, manifest)
    progress("building resources", len(parts), len(parts))


@contextmanager
def _scratch(make: Callable[..., Resource], directory: Path) -> Iterator[dict[str, Path]]:
    if "scratch" not in inspect.signature(declaration(make)).parameters:
        yield {}
        return
    with TemporaryDirectory(prefix=f".{_SCRATCH}.", dir=directory) as folder:
        yield {"scratch": Path(folder)}


@contextmanager
def _possible(settings: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except (ValueError, ArithmeticError, IndexError) as error:
        if isinstance(error, InputError) or not settings:
            raise
        values = ", ".join(f"{key}={value}" for key, value in settings.items())
        raise InputError(f"it cannot be built with these settings: {values} ({error})") from error


def unexpected_file(directory: Path) -> str | None:
    """The name of something in a folder that no build, finished or not, left there; otherwise None."""
    if not directory.is_dir() or (directory / MANIFEST).is_file():
        return None
    own = {LOCK, _CORPUS, *(leftover.name for leftover in _temporary_paths(directory))}
    return next((name for name in sorted(path.name for path in directory.iterdir()) if name not in own), None)


def _temporary_paths(directory: Path) -> list[Path]:
    names = (*known_parts(), _SCRATCH, _CORPUS, MANIFEST)
    return [leftover for name in names for leftover in sorted(directory.glob(f".{name}.*"))]


def _clear(directory: Path) -> None:
    for leftover in _temporary_paths(directory):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _open_manifest(
    directory: Path, provenance: Mapping[str, Any], corpus: Callable[[], ParallelCorpus]
) -> dict[str, Any]:
    if (directory / MANIFEST).is_file():
        manifest = _read_manifest(directory)
        if dict(provenance) != manifest["provenance"]:
            raise InputError(
                "holds resources of another corpus or other settings "
                f"({_difference(manifest['provenance'], provenance)})",
                location=directory,
                remedy="choose another output directory",
            )
        return manifest
    encoded = corpus()
    directory.mkdir(parents=True, exist_ok=True)
    with atomic_directory(directory / _CORPUS) as temporary:
        encoded.save(temporary)
    manifest = {
        "format": 1,
        "provenance": dict(provenance),
        "corpus_fingerprint": encoded.fingerprint,
        "pairs": len(encoded),
        "empty_pairs": encoded.empty_pairs,
        "source_tokens": len(encoded.source.ids),
        "target_tokens": len(encoded.target.ids),
        "source_tokenizer": encoded.source_tokenizer.settings(),
        "target_tokenizer": encoded.target_tokenizer.settings(),
        _CORPUS_FILES: checksums(directory / _CORPUS),
        "parts": {},
    }
    _write_manifest(directory, manifest)
    return manifest


def _difference(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Entries in which two provenances differ, and their values; long values are cut.

    >>> _difference({"source": "0123456789abcdef", "target": "1"}, {"source": "2", "target": "1"})
    'source: 0123456789ab there, 2 here'
    """
    different = [key for key in sorted({*recorded, *now}) if recorded.get(key) != now.get(key)]
    return "; ".join(
        f"{key}: {_short(recorded.get(key))} there, {_short(now.get(key))} here" for key in different
    )


def _short(value: Any) -> str:
    return value[:12] if isinstance(value, str) else str(value)


def _read_manifest(directory: Path) -> dict[str, Any]:
    content = read_json(f"the {MANIFEST}", directory / MANIFEST)
    with damage_reported(f"the {MANIFEST}", directory / MANIFEST):
        missing = [key for key in _KEYS if key not in content]
        if missing:
            raise Damaged(f"the key '{missing[0]}' is missing")
        if not is_sealed(content):
            raise Damaged("its content does not go with its checksum")
        for name, part in content["parts"].items():
            if not (_PLAIN.fullmatch(name) and isinstance(part, Mapping)):
                raise Damaged(f"{name!r} is no part")
        return content


def _write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    with atomic_file(directory / MANIFEST) as temporary:
        temporary.write_text(json.dumps(sealed(manifest), indent=1, sort_keys=True) + "\n", "utf-8")


_LARGE = 1 << 20  # bytes; that the arrays of such a part are sound is remembered
_CHECKS = 2  # to be raised with any `check_arrays`, so that it is asked again


def exported(name: str) -> bool:
    return ".arpa" in Path(name).suffixes


def part_files(folder: Path) -> dict[str, str]:
    return checksums(folder, [name for name in regular_files(folder) if not exported(name)])


def load_part(
    folder: Path, kind: type[Resource], recorded: Mapping[str, str], *, verified: bool = False
) -> Resource:
    """The part in `folder`; raises Damaged unless its checksums are those `recorded` and its arrays sound."""
    if not verified:
        verify(folder, recorded, [name for name in regular_files(folder) if exported(name)])
    resource = kind.load(folder)
    resource.check_settings()
    large = sum((folder / name).stat().st_size for name in recorded) >= _LARGE
    checks = kind_of(type(resource)), resource.version, _CHECKS
    name = f"sound-{digest(*checks, json.dumps(dict(recorded), sort_keys=True))}"
    if not large or recall(name) is None:
        resource.check_arrays()
        if large:
            keep(name, "")
    return resource
