"""Bundle: the resources of one language pair, one directory with a manifest.json."""

import inspect
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

from filelock import FileLock

from features.core.catalogue import Catalogue
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.files import atomic_directory, atomic_file, link_or_copy
from features.core.progress import Progress, silent
from features.core.resource import Resource
from features.core.tokenizer import Tokenizer

RESOURCES: Catalogue[Resource] = Catalogue("features.resources", Resource, "resource")
MANIFEST = "manifest.json"
LOCK = ".lock"
_SCRATCH = "scratch"


@dataclass(eq=False)
class Bundle:
    """Parts by name, loaded on first use and kept.

    Raises InputError where `path` holds no manifest, or a part is asked for that was not built.
    """

    path: Path
    _loaded: dict[str, Resource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.path / MANIFEST).is_file():
            raise InputError(
                f"no {MANIFEST} here", where=self.path, remedy="build resources with `qe resources build`"
            )

    @property
    def manifest(self) -> dict[str, Any]:
        """Settings, corpus fingerprint and sizes; per part kind, settings, fingerprint, seconds, bytes."""
        content: dict[str, Any] = json.loads((self.path / MANIFEST).read_text("utf-8"))
        return content

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """(source, target) tokenizers that the corpus was read with; segments must use the same."""
        manifest = self.manifest
        return Tokenizer(**manifest["source_tokenizer"]), Tokenizer(**manifest["target_tokenizer"])

    def part(self, name: str) -> Resource:
        """The resource `name`, loaded."""
        if name not in self._loaded:
            parts = self.manifest["parts"]
            if name not in parts:
                raise InputError(
                    f"this bundle has no part '{name}'",
                    where=self.path,
                    remedy=f"it has {', '.join(sorted(parts)) or 'none'}; build it with --only {name}",
                )
            kind = RESOURCES.get(parts[name]["kind"])
            if parts[name].get("version") != kind.version:
                raise InputError(
                    f"the part '{name}' was built by another version of this program",
                    where=self.path,
                    remedy="build it again (a model: train it again)",
                )
            self._loaded[name] = kind.load(self.path / name)
        return self._loaded[name]

    def export(self, names: Iterable[str], directory: Path) -> None:
        """A bundle of its own with the named parts, hard-linked where the file system allows.

        The encoded corpus and text exports (ARPA) stay behind: loading a part needs neither.
        """
        manifest = self.manifest
        chosen = {name: manifest["parts"][name] for name in names}
        for name in chosen:
            (directory / name).mkdir(parents=True)
            for file in sorted((self.path / name).rglob("*")):
                if file.is_file() and ".arpa" not in file.suffixes:
                    place = directory / file.relative_to(self.path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    link_or_copy(file, place)
        _write_manifest(directory, {**manifest, "parts": chosen})


@dataclass(frozen=True)
class Part:
    """A part that some resource kind declares."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    needs: Mapping[str, str]  # parameter of build -> name of the part passed to it


def known_parts(makers: Mapping[str, Callable[..., Resource]] | None = None) -> dict[str, Part]:
    """Every part that the resource kinds declare, by name; what they need, `makers` of `build` may change."""
    found: dict[str, Part] = {}
    for kind in RESOURCES.names:
        resource = RESOURCES.get(kind)
        own = resource_parameters(resource.build)
        needs = {name: name for name in resource_parameters((makers or {}).get(kind, resource.build))}
        for name, settings in resource.parts.items():
            here = {need: str(settings.get(need, part)) for need, part in needs.items()}
            plain = {key: value for key, value in settings.items() if key not in own}
            found[name] = Part(name, kind, plain, here)
    return found


def resource_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function, or fields of a dataclass, annotated with a Resource class."""
    hints = get_type_hints(function)
    return tuple(
        name
        for name, hint in hints.items()
        if name != "return" and inspect.isclass(hint) and issubclass(hint, Resource)
    )


def with_needs(
    names: Iterable[str], makers: Mapping[str, Callable[..., Resource]] | None = None
) -> list[str]:
    """The named parts and all parts they are built from, in building order.

    Raises InputError for a name that no resource kind declares.
    """
    parts = known_parts(makers)
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in parts:
            raise InputError(f"unknown part '{name}'", remedy=f"known: {', '.join(sorted(parts))}")
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
    makers: Mapping[str, Callable[..., Resource]] | None = None,
    wanted: Mapping[str, Mapping[str, Any]] | None = None,
) -> Bundle:
    """Builds the named parts (and what they need) that `directory` does not hold yet; each lands atomically.

    `makers` (kind -> function) take the place of the kinds' own `build`, with its arguments; parts that only
    `build` needs, and they do not take, are not built for them.
    `wanted` (part -> settings): a part that has others is built again, and so is what was built from it.

    `corpus` is called at most once, and only if something is missing; the encoded corpus is kept in
    `directory/corpus`, so that a build that was killed goes on with the first missing part.

    Raises InputError where `directory` was built from another corpus.
    """
    order = with_needs(names, makers)
    new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    # One process builds; others that want the same directory wait and find the parts there.
    with FileLock(directory / LOCK):
        try:
            manifest = _open_manifest(directory, provenance or {}, corpus, progress)
        except InputError:
            if new:
                shutil.rmtree(directory)
            raise
        missing = _missing(order, manifest["parts"], wanted or {}, known_parts(makers))
        if missing:
            corpus_there = ParallelCorpus.load(directory / "corpus")
            _build_parts(corpus_there, directory, missing, manifest, progress, makers or {})
    return Bundle(directory)


def _missing(
    order: Sequence[str],
    built: Mapping[str, Any],
    wanted: Mapping[str, Mapping[str, Any]],
    parts: Mapping[str, Part],
) -> list[str]:
    """The parts to build: not there, out of date, or built from such."""
    missing: list[str] = []
    for name in order:
        needs = parts[name].needs.values()
        if not _up_to_date(name, built, wanted.get(name, {})) or any(need in missing for need in needs):
            missing.append(name)
    return missing


def _up_to_date(name: str, built: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the part is there, by the present version of its kind, from the parts that are there."""
    if name not in built or built[name].get("version") != RESOURCES.get(built[name]["kind"]).version:
        return False
    if any(built[name]["settings"].get(key) != value for key, value in wanted.items()):
        return False
    needs: Mapping[str, str] = built[name].get("needs", {})
    return all(need in built and built[need]["fingerprint"] == found for need, found in needs.items())


def _build_parts(
    corpus: ParallelCorpus,
    directory: Path,
    names: Sequence[str],
    manifest: dict[str, Any],
    progress: Progress,
    makers: Mapping[str, Callable[..., Resource]],
) -> None:
    """Builds parts in order; the manifest names each as soon as it lies there whole."""
    parts = known_parts(makers)
    _clear(directory, parts)
    bundle = Bundle(directory)
    for done, name in enumerate(names):
        progress(f"building {name}", done, len(names))
        part = parts[name]
        started = time.perf_counter(), time.process_time()
        needs = {parameter: bundle.part(need) for parameter, need in part.needs.items()}
        make = makers.get(part.kind) or RESOURCES.get(part.kind).build
        with _scratch(make, directory) as scratch:
            resource = make(corpus, progress=progress, **part.settings, **needs, **scratch)
        with atomic_directory(directory / name) as temporary:
            resource.save(temporary)
            size = sum(f.stat().st_size for f in temporary.rglob("*") if f.is_file())
        manifest["parts"][name] = {
            "kind": part.kind,
            "version": RESOURCES.get(part.kind).version,
            "settings": dict(resource.settings),
            "fingerprint": resource.fingerprint,
            "needs": {need: manifest["parts"][need]["fingerprint"] for need in part.needs.values()},
            "seconds": round(time.perf_counter() - started[0], 2),
            "cpu_seconds": round(time.process_time() - started[1], 2),
            "bytes": size,
        }
        _write_manifest(directory, manifest)
    progress("building resources", len(names), len(names))


@contextmanager
def _scratch(make: Callable[..., Resource], directory: Path) -> Iterator[dict[str, Path]]:
    """An empty folder in the bundle's own, as argument `scratch`, for a `build` that takes one."""
    if "scratch" not in inspect.signature(make).parameters:
        yield {}
        return
    with TemporaryDirectory(prefix=f".{_SCRATCH}.", dir=directory) as folder:
        yield {"scratch": Path(folder)}


def _clear(directory: Path, parts: Iterable[str]) -> None:
    """Removes what killed builds left half done; nobody else builds here while the lock is held."""
    for name in (*parts, _SCRATCH):
        for left in directory.glob(f".{name}.*"):
            shutil.rmtree(left, ignore_errors=True)


def _open_manifest(
    directory: Path, provenance: Mapping[str, Any], corpus: Callable[[], ParallelCorpus], progress: Progress
) -> dict[str, Any]:
    """The manifest of `directory`; for a new directory, reads and keeps the corpus first."""
    if (directory / MANIFEST).is_file():
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text("utf-8"))
        if dict(provenance) != manifest["provenance"]:
            raise InputError(
                "holds resources of another corpus or other settings",
                where=directory,
                remedy="choose another output directory",
            )
        return manifest
    encoded = corpus()
    directory.mkdir(parents=True, exist_ok=True)
    with atomic_directory(directory / "corpus") as temporary:
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
        "parts": {},
    }
    _write_manifest(directory, manifest)
    return manifest


def _write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    with atomic_file(directory / MANIFEST) as temporary:
        temporary.write_text(json.dumps(dict(manifest), indent=1, sort_keys=True) + "\n", "utf-8")
