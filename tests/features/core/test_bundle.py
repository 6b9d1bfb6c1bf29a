"""Bundles: parts land whole, are built once, and bad corpora leave nothing."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from features.core import bundle as bundles
from features.core.bundle import Bundle
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.storage.checksums import sealed
from features.storage.files import sha256
from features.text.corpus import ParallelCorpus
from tests.factories import qe, refuses

ORDER = ["source_ngrams", "source_lm", "lexicon_source_to_target"]


def corpus() -> ParallelCorpus:
    pairs = [("a small house", "una casa pequeña"), ("the house", "la casa"), ("the small cat", "el gato")]
    return ParallelCorpus.from_lines([*pairs, ("", "nada")])


def write(folder: Path, source: str, target: str) -> list[str]:
    (folder / "s").write_text(source)
    (folder / "t").write_text(target)
    return ["--source", str(folder / "s"), "--target", str(folder / "t"), "--output", str(folder / "out")]


def test_who_waits_for_another_build_says_so(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = FileLock(tmp_path / "b" / bundles.LOCK)
    told: list[tuple[str, int, int | None]] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        told.append((stage, done, total))
        other.release()

    other.acquire()
    bundles.build(corpus, tmp_path / "b", ORDER[:1], progress=progress)
    waiting = f"waiting for another process that builds {tmp_path / 'b'}"
    assert told[:2] == [(waiting, 0, None), (waiting, 1, 1)]
    bundles.build(corpus, tmp_path / "b", ORDER[:1], progress=progress)
    assert [stage for stage, *_ in told].count(waiting) == 2


@pytest.mark.slow
def test_what_is_there_is_not_built_again_and_the_corpus_not_read(tmp_path: Path) -> None:
    bundles.build(corpus, tmp_path / "b", ORDER[:1])
    before = (tmp_path / "b" / "source_ngrams" / "meta.json").stat().st_mtime_ns

    def unread() -> ParallelCorpus:
        raise AssertionError("the corpus is kept in the bundle")

    bundle = bundles.build(unread, tmp_path / "b", ORDER)
    assert set(bundle.manifest["parts"]) >= set(ORDER)
    assert (tmp_path / "b" / "source_ngrams" / "meta.json").stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_part_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Lexicon, path: Path) -> None:
        (path / "half").write_text("x")
        raise OSError("disk full")

    monkeypatch.setattr(Lexicon, "save", full)
    refuses("disk full", bundles.build, corpus, tmp_path / "b", ORDER, error=OSError)
    assert set(Bundle(tmp_path / "b").manifest["parts"]) == {"source_ngrams", "source_lm"}
    assert not list((tmp_path / "b").glob("*lexicon*"))
    monkeypatch.undo()
    assert set(bundles.build(corpus, tmp_path / "b", ORDER).manifest["parts"]) == set(ORDER)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a\nb\nc\n", "x\n", "has 3 and .*/t has 1"),
        ("", "", "are empty"),
        ("\n\n", "x\ny\n", "no sentence pair with words on both sides"),
    ],
)
def test_bad_corpora_leave_nothing(tmp_path: Path, source: str, target: str, message: str) -> None:
    done = qe("resources", "build", *write(tmp_path, source, target))
    assert done.code == 2 and "Traceback" not in done.err
    assert re.search(message, done.err)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_exported_bundle_has_the_parts_with_their_folders_and_no_text_exports(tmp_path: Path) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER, settings={"source_lm": {"arpa": True}})
    within = bundle.path / "source_ngrams" / "models" / "words"
    within.mkdir(parents=True)
    (within / "trees.txt").write_text("tree")
    manifest = bundle.manifest
    manifest["parts"]["source_ngrams"]["files"]["models/words/trees.txt"] = sha256(within / "trees.txt")
    (bundle.path / "manifest.json").write_text(json.dumps(sealed(manifest)))
    bundle.export(["source_ngrams", "source_lm"], tmp_path / "copy")
    exported = Bundle(tmp_path / "copy")
    assert (tmp_path / "copy" / "source_ngrams" / "models" / "words" / "trees.txt").read_text() == "tree"
    assert set(exported.manifest["parts"]) == {"source_ngrams", "source_lm"}
    for name in ("source_ngrams", "source_lm"):
        assert exported.part(name).fingerprint == bundle.part(name).fingerprint
    assert not list((tmp_path / "copy").rglob("*.arpa*")) and list(bundle.path.rglob("*.arpa*"))


def test_a_build_gets_a_scratch_folder_and_what_killed_builds_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    seen: list[Path] = []

    def make(given: ParallelCorpus, *, scratch: Path, **settings: object) -> NgramCounts:
        assert scratch.parent == folder and not list(scratch.iterdir())
        (scratch / "half").write_text("x")
        seen.append(scratch)
        return NgramCounts.build(given, **settings)  # type: ignore[arg-type]

    bundles.build(corpus, folder, [])
    for left in (".scratch.killed", ".source_ngrams.killed", ".mine.kept"):
        (folder / left / "below").mkdir(parents=True)
    bundles.build(corpus, folder, ORDER[:1], builders={"ngrams": make})
    assert len(seen) == 1
    left = {path.name for path in folder.iterdir() if path.is_dir()}
    assert left == {".mine.kept", "corpus", "source_ngrams"}


@pytest.mark.slow
def test_settings_build_again_and_so_do_none(tmp_path: Path) -> None:
    """Orders by the files' own record; `source_vectors` is built from `source_ngrams`."""
    texts = [("a b c d e f g h", "x")] * 3

    def run(**settings: dict[str, int]) -> dict[str, tuple[int, object]]:
        given = {"source_vectors": {"dimensions": 2, "classes": 2}, **settings}
        names = ["source_vectors", "source_lm"]
        built = bundles.build(lambda: ParallelCorpus.from_lines(texts), tmp_path / "b", names, settings=given)
        return {
            name: ((built.path / name / "meta.json").stat().st_mtime_ns, part["set"])
            for name, part in built.manifest["parts"].items()
        }

    first, again = run(), run()
    assert first == again and first["source_ngrams"][1] == {}
    other = run(source_ngrams={"order": 2})
    sizes = json.loads((tmp_path / "b" / "source_ngrams" / "meta.json").read_text())["sizes"]
    assert len(sizes) == 2 and other["source_ngrams"][1] == {"order": 2}
    assert other["source_vectors"][0] > first["source_vectors"][0]
    assert other["source_lm"] == first["source_lm"]
    assert run()["source_ngrams"][1] == {}
    assert len(json.loads((tmp_path / "b" / "source_ngrams" / "meta.json").read_text())["sizes"]) == 3


@pytest.mark.slow
def test_a_maker_of_a_part_goes_before_that_of_its_kind(tmp_path: Path) -> None:
    def make(given: ParallelCorpus, **settings: object) -> NgramCounts:
        return NgramCounts.from_tokens(given.target, order=1)

    def fail(given: ParallelCorpus, **settings: object) -> NgramCounts:
        raise AssertionError("of the kind")

    builders = {"ngrams": fail, "source_ngrams": make}
    bundle = bundles.build(corpus, tmp_path / "b", ["source_ngrams"], builders=builders)
    assert bundle.manifest["parts"]["source_ngrams"]["settings"]["order"] == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from features.core import bundle
from features.text.corpus import ParallelCorpus
from tests.features.core.test_bundle import ORDER, corpus

folder, at = Path(sys.argv[1]), sys.argv[2]

def die(*_, **__):
    (folder / f".{at}.half").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)

if at == "corpus":
    ParallelCorpus.save = die
bundle.build(corpus, folder, ORDER, settings={"source_ngrams": {"order": 2}}, builders={ORDER[2]: die})
"""


@pytest.mark.slow
@pytest.mark.parametrize("at", ["corpus", ORDER[2]])
def test_a_killed_build_goes_on(tmp_path: Path, at: str) -> None:
    folder = tmp_path / "b"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), at], cwd=root, check=False)
    assert done.returncode == -9 and bundles.unexpected_file(folder) is None
    assert (folder / "manifest.json").is_file() == (at != "corpus")
    meta = folder / "source_ngrams" / "meta.json"
    before = meta.stat().st_mtime_ns if at != "corpus" else 0
    (folder / ".manifest.json.half").write_text("{")
    bundle = bundles.build(corpus, folder, ORDER, settings={"source_ngrams": {"order": 2}})
    assert set(bundle.manifest["parts"]) == set(ORDER)
    assert len(json.loads(meta.read_text())["sizes"]) == 2
    assert at == "corpus" or meta.stat().st_mtime_ns == before
    left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert set(left) <= {bundles.LOCK}


def test_files_of_others_are_told_from_what_builds_leave(tmp_path: Path) -> None:
    assert bundles.unexpected_file(tmp_path / "none") is None and bundles.unexpected_file(tmp_path) is None
    (tmp_path / ".corpus.ab12cd34").mkdir()
    (tmp_path / ".manifest.json.x").write_text("")
    assert bundles.unexpected_file(tmp_path) is None
    (tmp_path / "thesis.tex").write_text("")
    assert bundles.unexpected_file(tmp_path) == "thesis.tex"


def test_an_output_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    exists = r"out: cannot be made a folder \(File exists\)"
    refuses(exists, bundles.build, corpus, tmp_path / "out", ORDER[:1])
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["gone", "no meta", "empty meta", "cut", "empty array"])
def test_a_damaged_part_is_named_and_built_again_once_deleted(tmp_path: Path, damage: str) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER)
    part = bundle.path / "source_lm"
    if damage == "gone":
        shutil.rmtree(part)
    elif damage == "no meta":
        (part / "meta.json").unlink()
    elif damage == "empty meta":
        (part / "meta.json").write_text("{}")
    else:
        content = (part / "words.npy").read_bytes()
        (part / "words.npy").write_bytes(content[:-8] if damage == "cut" else b"")
    refuses(r"source_lm: the part 'source_lm' is damaged", Bundle(bundle.path).part, "source_lm")
    shutil.rmtree(part, ignore_errors=True)
    again = bundles.build(corpus, bundle.path, ORDER)
    assert again.part("source_lm").fingerprint == again.manifest["parts"]["source_lm"]["fingerprint"]


def test_all_missing_parts_are_told_at_once(tmp_path: Path) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER[:1])
    bundle.require(["source_ngrams"])
    several = "no parts 'b', 'c'; it has source_ngrams; build them with --only b --only c"
    refuses(several, bundle.require, ["b", "source_ngrams", "c"])
    refuses("no part 'b'; it has source_ngrams; build it with --only b", bundle.part, "b")


@pytest.mark.slow
def test_the_manifest_says_what_and_from_what(tmp_path: Path) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER)
    manifest = bundle.manifest
    assert (manifest["pairs"], manifest["empty_pairs"]) == (3, 1)
    assert manifest["corpus_fingerprint"] == corpus().fingerprint
    for name in ORDER:
        part = manifest["parts"][name]
        assert part["bytes"] > 0 and part["settings"] and part["fingerprint"] == bundle.part(name).fingerprint


@pytest.mark.slow
def test_the_verb_builds_what_the_baseline_needs(tmp_path: Path) -> None:
    lines = [f"the {w} house is small ." for w in ("red", "blue", "old", "new", "big")] * 4
    texts = write(tmp_path, "\n".join(lines), "\n".join(lines))
    done = qe("resources", "build", *texts, "--json", "--set", "source_lm.arpa=true")
    assert done.code == 0, done.err
    parts = json.loads(done.out)["parts"]
    assert {"source_ngrams", "source_lm", "target_lm", "lexicon_source_to_target"} <= set(parts)
    assert [file.parent.name for file in (tmp_path / "out").rglob("*.arpa*")] == ["source_lm"]
