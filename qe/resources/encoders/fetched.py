"""Encoders from the hub: needed files at one commit, checksums recorded."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from filelock import FileLock

from features.basics.errors import InputError, unknown_name
from features.encoding.folder import PLACES, POOLING, PROMPTS, WEIGHTS, EncoderFolder, encoders_home
from features.encoding.tokenizing import package
from features.storage.damage import read_json
from features.storage.files import atomic_directory, atomic_file, sha256
from qe.resources.encoders.checked import Origin, is_up_to_date, origin_of

# Name -> the repository; those whose card asks for a prompt that its files do not name have it here.
KNOWN: Final[Mapping[str, str]] = {
    "multilingual-e5-small": "intfloat/multilingual-e5-small",
    "LaBSE": "sentence-transformers/LaBSE",
    "paraphrase-multilingual-MiniLM-L12-v2": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "bge-m3": "BAAI/bge-m3",
}
_PROMPTED: Final[Mapping[str, str]] = {"intfloat/multilingual-e5-small": "query: "}
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_ENDPOINT: Final = "HF_ENDPOINT"  # the variable of huggingface_hub for another hub
_RECORD: Final = ".checksums.json"  # repository@commit -> file -> SHA-256, of every first fetch
_MODULES: Final = "modules.json"  # of sentence-transformers: what follows the transformer


@dataclass(frozen=True)
class Fetched:
    """An encoder that was fetched; not `new` if the same command had fetched it before."""

    folder: Path
    origin: Origin
    notes: tuple[str, ...]
    new: bool = True


def fetch_encoder(
    name: str, revision: str | None = None, folder: Path | None = None, overwrite: bool = False
) -> Fetched:
    """Fetch the files of an encoder into `folder`, by default under its name among the user's encoders.

    `name` is one of `KNOWN`, or a repository OWNER/NAME; `revision` a branch, tag or commit. A fetch that was
    stopped continues with the first incomplete file. Raises InputError for a folder that holds anything else,
    a hub that cannot be reached, a repository without an encoder, and files that differ from the commit's.
    """
    repository = KNOWN.get(name, name)
    if not _REPOSITORY.fullmatch(repository):
        raise unknown_name("encoder", name, KNOWN, location="qe encoders fetch (or OWNER/NAME)")
    output = folder or encoders_home() / repository.rpartition("/")[2]
    command = f"fetch {repository}" + (f" --revision {revision}" if revision else "")
    if is_up_to_date(output, command, overwrite):
        return Fetched(output, cast(Origin, origin_of(output)), _notes(output), new=False)
    with _hub(repository) as hub:
        info = hub.model_info(repository, revision=revision, files_metadata=True)
        there = {entry.rfilename: entry for entry in info.siblings}
        wanted = needed(repository, list(there))
        partial = output.with_name(f".{output.name}-{info.sha[:12]}")
        for file in wanted:
            hub.hf_hub_download(repository, file, revision=info.sha, local_dir=partial)
    files = {file: sha256(partial / file) for file in wanted}
    large = {file: getattr(there[file], "lfs", None) for file in wanted}
    promised = {file: entry.sha256 for file, entry in large.items() if entry is not None}
    _compare(repository, info.sha, files, promised)
    notes, prompt = _notes(partial), _PROMPTED.get(repository)
    if prompt is not None and not EncoderFolder(partial).prompt:
        content = {"prompts": {"query": prompt}, "default_prompt_name": "query"}
        (partial / PROMPTS).write_text(json.dumps(content), "utf-8")
    card = getattr(info, "card_data", None)
    licence = str((card.get("license") if card else None) or "not said by the card")
    origin = Origin(output.name, repository, info.sha, licence, EncoderFolder(partial).checksums(), command)
    origin.write(partial)
    shutil.rmtree(partial / ".cache", ignore_errors=True)  # what the client noted of the files
    with atomic_directory(output) as temporary:
        for path in partial.iterdir():
            path.rename(temporary / path.name)
    partial.rmdir()
    return Fetched(output, origin, notes)


def needed(repository: str, files: Sequence[str]) -> list[str]:
    """The files of a repository that an encoder consists of.

    >>> needed("a/b", ["README.md", "onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json"])
    ['onnx/model.onnx', 'tokenizer.json', 'onnx/model.onnx_data']
    """
    weights = next(_shallow(WEIGHTS, files), None)
    tokenizer = next(_shallow((*PLACES, "onnx/tokenizer.json"), files), None)
    if weights is None or tokenizer is None:
        absent = "weights in ONNX or static vectors" if weights is None else "tokenizer.json"
        raise InputError(
            f"the repository {repository} has no {absent}",
            remedy="export it as docs/encoders.md says",
        )
    beside = [name for name in files if name.startswith(f"{weights}_") or name == f"{weights}.data"]
    optional = [name for name in (POOLING, PROMPTS, _MODULES) if name in files]
    return [weights, tokenizer, *beside, *optional]


def _shallow(wanted: Sequence[str], files: Sequence[str]) -> Iterator[str]:
    static = any(name.startswith("0_StaticEmbedding/") for name in files)
    for name in wanted:
        if name in files and (name != "model.safetensors" or static or "config.json" not in files):
            yield name


@contextmanager
def _hub(repository: str) -> Iterator[Any]:
    hub, errors = package("huggingface_hub"), package("huggingface_hub.errors")
    try:
        yield hub.HfApi(endpoint=os.environ.get(_ENDPOINT))
    except InputError:
        raise
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise InputError(f"{repository}: {_first_line(error)}", remedy="check --revision") from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"the hub has no repository {repository}, or does not show it without a login",
            remedy="check the name; huggingface_hub reads a login from HF_TOKEN",
        ) from None
    except (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, OSError) as error:
        raise _unreachable(error) from None
    except Exception as error:  # the errors of its transport have no common name
        if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        raise _unreachable(error) from None


def _unreachable(error: Exception) -> InputError:
    return InputError(
        f"the hub cannot be reached, or refuses ({_first_line(error)})",
        remedy="what was fetched is kept: run the command again; without a network, copy a folder as "
        "docs/encoders.md says, or run `qe encoders make multilingual-e5-small`",
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__


def _compare(repository: str, commit: str, files: Mapping[str, str], promised: Mapping[str, str]) -> None:
    path, key = encoders_home() / _RECORD, f"{repository}@{commit}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        record = read_json("the record of checksums", path, "delete it") if path.is_file() else {}
        for known, whose in ((promised, "the hub says"), (record.get(key, {}), "was fetched before")):
            wrong = sorted(file for file, value in files.items() if known.get(file, value) != value)
            if wrong:
                raise InputError(
                    f"{', '.join(wrong)} of {key}: the SHA-256 is not what {whose}",
                    location=path,
                    remedy="do not use these files before you know why",
                )
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps({**record, key: dict(files)}, indent=1), "utf-8")


def _notes(folder: Path) -> tuple[str, ...]:
    if not (folder / _MODULES).is_file():
        return ()
    modules = json.loads((folder / _MODULES).read_text("utf-8"))
    kinds = [str(entry.get("type", "")).rpartition(".")[2] for entry in modules if isinstance(entry, dict)]
    left_out = [
        kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize", "StaticEmbedding")
    ]
    return tuple(f"its layer {kind} after pooling is not computed" for kind in left_out)
