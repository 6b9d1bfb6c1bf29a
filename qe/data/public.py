"""Public datasets: downloaded, checksum-verified, resumable."""

import hashlib
import json
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import cast

from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file, sha256

BASE_URL = "https://raw.githubusercontent.com"
ORIGIN = "origin.json"  # in the folder of a dataset: its name, address and terms, and what was recorded
_CHUNK = 1 << 16
_TIMEOUT = 60  # seconds without an answer
_LARGEST = 1 << 28  # bytes of one archive member
_REMEDY = "fetch the dataset anew into another folder"


@dataclass(frozen=True)
class Download:
    """A file, or an archive (.tar.gz, .zip), under the base URL, and what is wanted of it.

    files  (SHA-256, destination in the dataset's folder); members of an archive are recognised by their
           checksum, wherever they lie in it; none where checksums are not published
    into   without checksums: the folder in which the file, or what is in the archive, lands (a folder that
           holds all of the archive is left out); what landed is recorded, and must come the next time
    """

    url: str
    files: tuple[tuple[str, str], ...] = ()
    into: str = ""


@dataclass(frozen=True)
class PublicDataset:
    """A public dataset: files, licence terms, `dataset.format` and its place on the web.

    The format is empty if no public page documents the layout.
    """

    downloads: tuple[Download, ...]
    terms: str
    format: str
    source: str = ""


def names() -> tuple[str, ...]:
    """The datasets that can be fetched."""
    return tuple(_KNOWN)


def dataset(name: str, pairs: Sequence[str] = ()) -> PublicDataset:
    """The dataset of that name, with these language pairs; else its usual ones.

    Raises InputError for an unknown name or pair, with the known ones, and for one whose files no public
    page gives an address of.
    """
    if name in BY_HAND:
        raise InputError("is not fetched", location=name, remedy=BY_HAND[name])
    if name not in _KNOWN:
        raise unknown_name("public dataset", name, _KNOWN)
    for pair in pairs:
        if pair not in PAIRS[name]:
            raise unknown_name("language pair", pair, PAIRS[name], location=name)
    return _KNOWN[name](tuple(pairs) or USUAL.get(name, PAIRS[name]))


def fetch(
    name: str,
    output: Path,
    *,
    pairs: Sequence[str] = (),
    base_url: str = BASE_URL,
    progress: Progress = silent,
) -> tuple[list[Path], list[Path]]:
    """Makes the files of a public dataset in `output`.

    Returns (files written, files that were there).

    Files that are there with the right checksum are not fetched again. A download that was cut off goes on
    where it stopped; every file lands whole and verified, or not at all. Checksums that are not published are
    recorded in `origin.json`, beside the terms.

    Raises InputError for an unknown name, a server that does not answer, content that is not the expected
    one, and a file that is there with other content: it is never replaced.
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
        _check_unchanged(name, download, output)
    for done, download in enumerate(wanted):
        progress(f"fetching {name}", done, len(wanted))
        missing = [(sum_, file) for sum_, file in download.files if not _is(output / file, sum_)]
        kept += [output / file for sum_, file in download.files if (sum_, file) not in missing]
        if missing:
            written += _land(download, missing, output, base_url.rstrip("/"), progress)
        elif not download.files:
            recorded[download.url] = _land_all(name, download, output, base_url.rstrip("/"), progress)
            written += [output / file for _, file in recorded[download.url]]
            _write_origin(name, public, output, recorded)
    _write_origin(name, public, output, recorded)
    progress(f"fetching {name}", len(wanted), len(wanted))
    return written, kept


def terms_of(path: Path) -> str:
    """Name, terms and address of the fetched public dataset around a path; empty if none."""
    for folder in (path, *path.resolve().parents[:3]):
        if (folder / ORIGIN).is_file():
            content = read_json("what is known of the dataset", folder / ORIGIN, _REMEDY)
            with damage_reported("what is known of the dataset", folder / ORIGIN, _REMEDY):
                return f"{content['name']}: {content['terms']} ({content['source']})"
    return ""


def _recorded(output: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    if not (output / ORIGIN).is_file():
        return {}
    content = read_json("what is known of the dataset", output / ORIGIN, _REMEDY)
    with damage_reported("what is known of the dataset", output / ORIGIN, _REMEDY):
        return {
            str(url): tuple((str(sum_), str(_inside(file))) for sum_, file in files)
            for url, files in content["recorded"].items()
        }


def _write_origin(
    name: str,
    public: PublicDataset,
    output: Path,
    recorded: Mapping[str, tuple[tuple[str, str], ...]],
) -> None:
    content = {"name": name, "source": public.source, "terms": public.terms, "recorded": recorded}
    with atomic_file(output / ORIGIN) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _check_unchanged(name: str, download: Download, output: Path) -> None:
    for sum_, file in download.files:
        path = output / file
        if (path.exists() or path.is_symlink()) and not _is(path, sum_):
            raise InputError(
                f"is there, and not as '{name}' publishes it",
                location=path,
                remedy="move it away, or choose another --output",
            )


def _is(path: Path, checksum: str) -> bool:
    return path.is_file() and sha256(path) == checksum


def _land_all(
    name: str, download: Download, output: Path, base_url: str, progress: Progress
) -> tuple[tuple[str, str], ...]:
    part, url = _part(download, output), f"{base_url}/{download.url}"
    _download(url, part, progress)
    with _undamaged(part, url):
        found = dict(_named(part, download))
    sums = tuple((hashlib.sha256(content).hexdigest(), file) for file, content in found.items())
    _check_unchanged(name, replace(download, files=sums), output)
    for file, content in found.items():
        with atomic_file(output / file) as temporary:
            temporary.write_bytes(content)
    _tidy(part)
    return sums


def _named(part: Path, download: Download) -> Iterator[tuple[str, bytes]]:
    if not _packed(download.url):
        yield f"{download.into}/{PurePosixPath(download.url).name}", part.read_bytes()
        return
    found = [(PurePosixPath(name), content) for name, content in _members(part, download.url)]
    wanted = [(place, content) for place, content in found if not _of_macos(place)]
    outermost = {place.parts[:-1][:1] for place, _ in wanted}  # () for a file in no folder
    shared = len(outermost) == 1 and () not in outermost
    for place, content in wanted:
        inner = PurePosixPath(*place.parts[1:]) if shared else place
        yield str(_inside(f"{download.into}/{inner}")), content


def _packed(url: str) -> bool:
    return url.endswith((".tar.gz", ".zip"))


def _of_macos(place: PurePosixPath) -> bool:
    return place.name.startswith("._") or place.parts[0] == "__MACOSX"


def _inside(file: str) -> PurePosixPath:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts:
        raise Damaged(f"its path leads to {file}, out of its own folder")
    return path


def _part(download: Download, output: Path) -> Path:
    return output / ".download" / (hashlib.sha256(download.url.encode()).hexdigest()[:16] + ".part")


def _tidy(part: Path) -> None:
    part.unlink()
    if not any(part.parent.iterdir()):
        part.parent.rmdir()


@contextmanager
def _undamaged(part: Path, url: str) -> Iterator[None]:
    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        RuntimeError,
        EOFError,
        OSError,
        zlib.error,
        Damaged,
    ) as error:
        part.unlink()
        raise InputError(f"damaged archive ({error})", location=url, remedy="run the command again") from None


def _land(
    download: Download, missing: list[tuple[str, str]], output: Path, base_url: str, progress: Progress
) -> list[Path]:
    part, url = _part(download, output), f"{base_url}/{download.url}"
    _download(url, part, progress)
    open_ = dict(missing)
    with _undamaged(part, url):
        found = _members(part, url) if _packed(url) else iter([("", part.read_bytes())])
        for _, content in found:
            destination = open_.pop(hashlib.sha256(content).hexdigest(), None)
            if destination is not None:
                with atomic_file(output / destination) as temporary:
                    temporary.write_bytes(content)
    _tidy(part)
    if open_:
        raise InputError(
            f"no content with the expected checksum for {', '.join(open_.values())}",
            location=url,
            remedy="the file was damaged on the way, or changed at its source",
        )
    return [output / file for _, file in missing]


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
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            _copy(cast(HTTPResponse, answer), part, have, progress, url)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:  # all the bytes are there already
            raise InputError(f"the server answers {error.code} {error.reason}", location=url) from None
    except (urllib.error.URLError, TimeoutError, HTTPException, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(
            f"cannot be downloaded ({reason})",
            location=url,
            remedy="run the command again: it goes on where it stopped",
        ) from None


def _copy(answer: HTTPResponse, part: Path, have: int, progress: Progress, url: str) -> None:
    resumed = answer.status == 206
    done = have if resumed else 0
    length = answer.headers.get("Content-Length")
    total = done + int(length) if length else None
    with part.open("ab" if resumed else "wb") as stream:
        while chunk := answer.read(_CHUNK):
            stream.write(chunk)
            done += len(chunk)
            progress(url.rsplit("/", 1)[-1], done, total)
    if total is not None and done < total:
        raise ConnectionError(f"cut off after {done} of {total} bytes")


def _sums(text: str, *starts: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.split("  ", 1) for line in text.split("\n") if line)
    return tuple((sum_, file) for sum_, file in pairs if file.startswith(starts))


PAIRS = {
    "wmt12-qe": ("en-es",),
    "mlqe-pe": ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"),
    "wmt19-qe": ("en-de", "en-ru"),
    "wmt20-qe": ("en-de", "en-zh"),
    "wmt21-qe": ("en-cs", "en-de", "en-ja", "en-zh"),
    "wmt22-qe": (
        *("en-cs", "en-de", "en-ja", "en-mr", "en-zh", "et-en", "km-en"),
        *("ne-en", "ps-en", "ro-en", "ru-en", "si-en"),
    ),
    "wmt23-qe": ("en-gu", "en-hi", "en-ta", "en-te"),
    "wmt-mqm": ("en-de", "zh-en"),
}
USUAL = {"mlqe-pe": ("en-de", "ro-en")}  # those whose checksums are known here
# Public documentation names a page that leads to these files, and not their own addresses.
BY_HAND = {
    "wmt18-qe": "download sentence_level_training.tar.gz at https://hdl.handle.net/11372/LRT-2619, under the "
    "terms shown there, and unpack it; the format wmt_qe reads the folder of a language pair",
}
_MQM_SETS = ("newstest2020", "newstest2021", "ted", "generalMT2022")


def _wmt12(pairs: Sequence[str]) -> PublicDataset:
    task, quest = "lspecia/QualityEstimation/master", "lspecia/quest/master/learning/data/features"
    archives = ("training_set", "training_set_annotations", "test_set")
    features = {"training": "training.qe.baseline.tsv", "test": "test.qe.baseline.tsv"}
    return PublicDataset(
        (
            *(Download(f"{task}/{name}.tar.gz", _sums(_WMT12, f"{name}/")) for name in archives),
            *(
                Download(f"{quest}/wmt2012_qe_baseline/{file}", _sums(_WMT12, f"baseline_features/{split}."))
                for split, file in features.items()
            ),
        ),
        "no licence stated; published for research in the WMT 2012 shared task",
        "wmt12",
        "github.com/lspecia/QualityEstimation",
    )


def _mlqe_pe(pairs: Sequence[str]) -> PublicDataset:
    commit = "sheffieldnlp/mlqe-pe/2a670a1140416cf80507b5a829659383c878feb8/data"
    return PublicDataset(
        tuple(
            Download(
                f"{commit}/{kind}/{split}/{pair}-{split}.tar.gz",
                _sums(_MLQE_PE, f"{pair}/{kind}/{split}/"),
                f"{pair}/{kind}/{split}",
            )
            for pair in pairs
            for kind in ("direct-assessments", "post-editing")
            for split in ("train", "dev")
        ),
        "CC0 1.0",
        "mlqe_pe",
        "github.com/sheffieldnlp/mlqe-pe",
    )


def _wmt19(pairs: Sequence[str]) -> PublicDataset:
    commit = "deep-spin/deep-spin.github.io/0b6b797f0349fa38395d018c8164a7c3f09e9bcf/docs/data/wmt2019_qe"
    return PublicDataset(
        tuple(Download(f"{commit}/task1_{pair}_traindev.tar.gz", into=pair) for pair in pairs),
        "no licence stated; 'distributed freely' for the WMT 2019 shared task",
        "wmt_qe",
        "statmt.org/wmt19/qe-task.html",
    )


def _wmt20(pairs: Sequence[str]) -> PublicDataset:
    folder = "deep-spin/deep-spin.github.io/master/docs/data/wmt2020_qe"
    return PublicDataset(
        tuple(Download(f"{folder}/qe-{pair.replace('-', '')}-traindev.tar.gz", into=pair) for pair in pairs),
        "no licence stated; published for research in the WMT 2020 shared task",
        "wmt_qe",
        "statmt.org/wmt20/quality-estimation-task.html",
    )


def _wmt21(pairs: Sequence[str]) -> PublicDataset:
    first = "800d38bae4944afbe880913ff7929b869dcee201"  # en-de; the others came with the second
    second = "9efa883d8cd911ea65fdd0b0c3a4a9a13ef009bf"
    return PublicDataset(
        tuple(
            Download(
                f"sheffieldnlp/mlqe-pe/{first if pair == 'en-de' else second}/data/catastrophic_errors/"
                f"{pair.replace('-', '')}_majority_{split}.tsv",
                into=".",
            )
            for pair in pairs
            for split in ("train", "dev")
        ),
        "CC0 1.0",
        "catastrophic_errors",
        "github.com/sheffieldnlp/mlqe-pe",
    )


def _wmt22(pairs: Sequence[str]) -> PublicDataset:
    commit = "WMT-QE-Task/wmt-qe-2022-data/c7de681125635a4cf3a914e9255d4236fcfccd05/train-dev_data"
    kinds = {"task1_da": "direct-assessments", "task1_word-level": "post-editing"}
    return PublicDataset(
        tuple(
            Download(f"{commit}/{task}/dev/{pair}/{pair}-dev-2022.zip", into=f"{pair}/{kind}/dev")
            for pair in pairs
            for task, kind in kinds.items()
        ),
        "no licence stated; published for research in the WMT 2022 shared task",
        "",
        "github.com/WMT-QE-Task/wmt-qe-2022-data",
    )


def _wmt23(pairs: Sequence[str]) -> PublicDataset:
    commit = "WMT-QE-Task/wmt-qe-2023-data/95a124d873a9f173e5d6aaaeb987d7cb61fcdd67/task_1"
    return PublicDataset(
        tuple(
            Download(
                f"{commit}/{pair}/{split}.{pair.replace('-', '')}.df.short.tsv",
                into=f"{pair}/direct-assessments/{split}",
            )
            for pair in pairs
            for split in ("train", "dev")
        ),
        "no licence stated; published for research in the WMT 2023 shared task",
        "table: source original, target translation, scores z_mean",
        "github.com/WMT-QE-Task/wmt-qe-2023-data",
    )


def _wmt_mqm(pairs: Sequence[str]) -> PublicDataset:
    commit = "google/wmt-mqm-human-evaluation/14abf3a7f7af2f3c8b82d829f41526cb52664099"
    return PublicDataset(
        tuple(
            Download(f"{commit}/{name}/{pair}/mqm_{name}_{pair}.tsv", into=f"{name}/{pair}")
            for pair in (pair.replace("-", "") for pair in pairs)
            for name in _MQM_SETS
        ),
        "no licence stated in its README; Freitag et al. 2021 are to be cited",
        "mqm",
        "github.com/google/wmt-mqm-human-evaluation",
    )


_KNOWN: Mapping[str, Callable[[Sequence[str]], PublicDataset]] = {
    "wmt12-qe": _wmt12,
    "mlqe-pe": _mlqe_pe,
    "wmt19-qe": _wmt19,
    "wmt20-qe": _wmt20,
    "wmt21-qe": _wmt21,
    "wmt22-qe": _wmt22,
    "wmt23-qe": _wmt23,
    "wmt-mqm": _wmt_mqm,
}

_WMT12 = """\
768bccae85a353cbe08ea51684bd910f513d653ef818e0e877ac63bec68a9b89  baseline_features/test.tsv
f8f99c479e5b433295ce0d33bb2d273ed2de5fa5eb5571ee1c99d99369974314  baseline_features/training.tsv
78d57e2d1449345641aac4a7fb3ad9f16fdb4f772613e283fea2fea83a6b6964  test_set/source.eng
640bb8b5c0a8e19ec74fe32e994033d3a3635f79ee6dbeef2a3b58fad70ae7a7  test_set/target_system.spa
4fd0ac297c4a60e39ac22c81e5b0f6870b10f4db4912e5736dff56a47e4469c9  training_set/source.eng
d00906a84df36e1dcf02f979c1f71d0243c63fb09395f4cf4d23ad1abf942172  training_set/target_system.spa
f7e1e66c0fae26e92d6e5075b4ab690493b0e321eb002820bffe1efc8c7183b7  training_set_annotations/target_postedited.spa
636db351ef503ec67ac089734e8902c5562dc887915f99f344840a6ff2e4d83f  training_set_annotations/target_reference.spa
338dadbff1a553f9a9dc70f55798b7cda57ee8bfdc0a76ee91040e2494f0b726  training_set_annotations/target_system.effort
c36034ad09133762192afde102d29cf375237cd21337d29bde12591c223ad2b6  training_set_annotations/target_system.effort3scores
d29a9c32b9ecfe598b0535ef95fa1ed2ba0834e79ed5426578673194e1d5a1b0  training_set_annotations/target_system.effort3weights
"""  # noqa: E501

_MLQE_PE = """\
1cfaf09051b6e0565900e39d5f3ea2bfb14626158d282956c56617f066803ad3  en-de/direct-assessments/dev/dev.doc_ids
dafddfbb6a48c539ad9128c663fb0c98f9572e52cda2947bb61b8f6db8c9fec0  en-de/direct-assessments/dev/dev.ende.df.short.tsv
1c1ddc14dafb4a06337085cad987250f549a20e22fa978e7d0f9f7e3a6df6852  en-de/direct-assessments/dev/word-probas/mt.dev.ende
469ae721609e318cf55537012d750fdc4a485b787ba7840b30db4e3c9953304c  en-de/direct-assessments/dev/word-probas/word_probas.dev.ende
94506fcf5e29a311957fc45cc3d15c0cd793d914199d7fc288d764a62700b613  en-de/direct-assessments/train/train.doc_ids
20213ee87c7c0b39ca276527ea6ef34322b645e300deb24eb2d999152aab7963  en-de/direct-assessments/train/train.ende.df.short.tsv
2e85da51fdc415c6fe994c5503293abf1e6e574998debb95b88868217675ce82  en-de/direct-assessments/train/word-probas/mt.train.ende
aaed1ad261498381285bab72146dab5c70ebf1ad630bab525147417fd879cba9  en-de/direct-assessments/train/word-probas/word_probas.train.ende
c23b242dea05b991a532c7995b84c06859a4587f512d56da5d8a709e816b533e  en-de/post-editing/dev/dev.hter
5578818ba8f877f619d598e7a234f525ee07d575f9810573f5c9d090777a872c  en-de/post-editing/dev/dev.mt
6518f4399de597c86110ed2b3f7f1ac650aa766bc2d4a290a6c534a6a2cc9610  en-de/post-editing/dev/dev.pe
ae05936ad9f96dba5f3ba44fee22b9b215040f94082c24c85d390e1f8561e84a  en-de/post-editing/dev/dev.source_tags
a6ec0a21cbee236b63f689043909ccd5140fd0f6a8a0da9568a723e0d2670fc5  en-de/post-editing/dev/dev.src
efd971fe014807d76bb2c806f2457ad8329377d4c7837b3a6b800f70075e7864  en-de/post-editing/dev/dev.src-mt.alignments
efb2490d40c585e82c03ec40a06deaa0ff4b7afd906da51cb60cc8b7fbe01a3e  en-de/post-editing/dev/dev.tags
2f189057822db646eb9ec0a2f85ee8e4937955cf44c81171027a1f2d098bbc0c  en-de/post-editing/train/train.hter
82b10df6eb6976373cb9314b6a1d83f6fc57c30dd7c81e31057f2fe571d65e17  en-de/post-editing/train/train.mt
cbf88367b04fd23abbaa16a1030f36a5b7da75458ccb45cc03a15469c8d8a664  en-de/post-editing/train/train.pe
dc8150aed18aaa14bcee0efa257d82fb036315602eefa118327ce0ea750a2a7e  en-de/post-editing/train/train.source_tags
48f7b3c8609a2a4a3ad8ea8046848c1a3fad3cb478326e55fdcc747517f13ed7  en-de/post-editing/train/train.src
a8ac9a9507edd41b413b2ec16437fe6288a07365e2e0e50c4c859503e75951ce  en-de/post-editing/train/train.src-mt.alignments
51b263f4ca7037157f32c845f079ba1f71b97ea598cbc728a0b2c2dad1bc693d  en-de/post-editing/train/train.tags
142bc679abb494494a84897ae8fca57b6cfb5e3912133ebd46d17bd23bd9f2f5  ro-en/direct-assessments/dev/dev.doc_ids
a60e4cc7b187dec377b205230f7bbc3de631a7a69a20ac77b54e3868e4e76aba  ro-en/direct-assessments/dev/dev.roen.df.short.tsv
5d62f2e8e6d2107b306d17777b92c7dc76ab34699aaed2eccb11038f94f6136c  ro-en/direct-assessments/dev/word-probas/mt.dev.roen
9a0d256bcf4f61b2677ad04d890f43cd00ef9206269b88b5ff4b6eba36b2d17c  ro-en/direct-assessments/dev/word-probas/word_probas.dev.roen
1ee11fa28b8a8c990e2a9eea58ebbc5db92902acca66ba519e447b92836aa1e8  ro-en/direct-assessments/train/train.doc_ids
241a6dd0932b3c1c758f87914b0309284f0d8395c25bb7ccd26991093edcafce  ro-en/direct-assessments/train/train.roen.df.short.tsv
2b15bc2b5224c30db26820ea3510b90a750e80af583dc1dcf303fb055d127b0c  ro-en/direct-assessments/train/word-probas/mt.train.roen
814a6b9d16d306b332f02c17565e117801dfda3515e18dfbc0d30b03c9776346  ro-en/direct-assessments/train/word-probas/word_probas.train.roen
ec9e57191ff27cf571942db1d9bbfcd4b7dccfeea61162de6f350dbd258867eb  ro-en/post-editing/dev/dev.hter
16afdbafdd0626e4d5fb10a0263472ee1b56c7641ffad212507a40ba1e8a1693  ro-en/post-editing/dev/dev.mt
248f4e9a1ce98a62b493b4d8d780aa149e7f90bf67f9efeebb1e97644f18e197  ro-en/post-editing/dev/dev.pe
71a2c93844d437fc8d0582d352c67e34290ec83d4b664f473ebfec2b0235e256  ro-en/post-editing/dev/dev.source_tags
48bdecabc3dd7d6fe504b4218717f3b4716454a58ba96094bb19a6ad630dfd0e  ro-en/post-editing/dev/dev.src
51cf5fd3794f0f6dc3ab61b42fd27abc179f22c6952a082c9f549f2d5af813de  ro-en/post-editing/dev/dev.src-mt.alignments
37db1c8b32c4815f6bfce213f38266e06d7341e87a475661c53b7bf7b7aa7df0  ro-en/post-editing/dev/dev.tags
e344ae17964718be9dca7d3b3f3b2e9015ba4d64467aaac08ccf0e53af5edd63  ro-en/post-editing/train/train.hter
66f935c8004c4e13d690a5ea088ab5fb7b6e37c1a4bfef9fe39e592e7aab92d0  ro-en/post-editing/train/train.mt
c2a79c5e8e73a7d28bb5c7e968b803e18aa1171925e08f3bea53c6c114574176  ro-en/post-editing/train/train.pe
c913c4b11e3a84a4b902fbec7b6fee607292cd1f2a5249c222a179b71ae2f0e1  ro-en/post-editing/train/train.source_tags
43eda942de3003299f4ce13b4709ceb9a5f198dafcc967e2da26ec9efeae9efd  ro-en/post-editing/train/train.src
0e26685f8afb58abe12c60a0b0d67a48eca6513da31e94f71f3c848a55c2b707  ro-en/post-editing/train/train.src-mt.alignments
030034bb367698772466140b64d9809939a9431a181c143cb5e54fb33a7f6d74  ro-en/post-editing/train/train.tags
"""  # noqa: E501
