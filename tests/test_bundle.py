"""Bundles: parts land whole, are built once, and bad corpora leave nothing."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from features.core import bundle as bundles
from features.core.bundle import Bundle, with_needs
from features.core.corpus import ParallelCorpus
from features.core.errors import InputError

PAIRS = [
    ("a small house", "una casa pequeña"),
    ("the house", "la casa"),
    ("", "nada"),
    ("the small cat", "el gato"),
]
ORDER = ["source_ngrams", "source_lm", "lexicon_source_to_target"]


def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(PAIRS)


def write(folder: Path, source: str, target: str) -> list[str]:
    (folder / "s").write_text(source)
    (folder / "t").write_text(target)
    return ["--source", str(folder / "s"), "--target", str(folder / "t"), "--output", str(folder / "out")]


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qe", "resources", "build", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_manifest_says_what_and_from_what(tmp_path: Path) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER)
    manifest = bundle.manifest
    assert (manifest["pairs"], manifest["empty_pairs"]) == (3, 1)
    assert manifest["corpus_fingerprint"] == corpus().fingerprint
    for name in ORDER:
        part = manifest["parts"][name]
        assert part["bytes"] > 0 and part["settings"] and part["fingerprint"] == bundle.part(name).fingerprint


def test_what_is_there_is_not_built_again_and_the_corpus_not_read(tmp_path: Path) -> None:
    bundles.build(corpus, tmp_path / "b", ORDER[:1])
    before = (tmp_path / "b" / "source_ngrams" / "meta.json").stat().st_mtime_ns

    def unread() -> ParallelCorpus:
        raise AssertionError("the corpus is kept in the bundle")

    bundle = bundles.build(unread, tmp_path / "b", ORDER)
    assert set(bundle.manifest["parts"]) >= set(ORDER)
    assert (tmp_path / "b" / "source_ngrams" / "meta.json").stat().st_mtime_ns == before


def test_a_part_that_fails_leaves_the_others_and_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from features.resources.lexicon import Lexicon

    def full(self: Lexicon, path: Path) -> None:
        (path / "half").write_text("x")
        raise OSError("disk full")

    monkeypatch.setattr(Lexicon, "save", full)
    with pytest.raises(OSError, match="disk full"):
        bundles.build(corpus, tmp_path / "b", ORDER)
    assert set(Bundle(tmp_path / "b").manifest["parts"]) == {"source_ngrams", "source_lm"}
    assert not list((tmp_path / "b").glob("*lexicon*"))
    monkeypatch.undo()
    assert set(bundles.build(corpus, tmp_path / "b", ORDER).manifest["parts"]) == set(ORDER)


def test_another_corpus_in_the_same_folder_is_an_error(tmp_path: Path) -> None:
    bundles.build(corpus, tmp_path / "b", ORDER[:1], provenance={"source": "1"})
    with pytest.raises(InputError, match="resources of another corpus"):
        bundles.build(corpus, tmp_path / "b", ORDER, provenance={"source": "2"})


def test_names_are_checked() -> None:
    with pytest.raises(InputError, match=r"unknown part 'source_ml'; known: .*source_lm"):
        with_needs(["source_ml"])


def test_needs_come_first() -> None:
    order = with_needs(["phrase_table"])
    assert order[-1] == "phrase_table" and len(order) > 1


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a\nb\nc\n", "x\n", "has 3 and .*/t has 1"),
        ("", "", "are empty"),
        ("\n\n", "x\ny\n", "no sentence pair with words on both sides"),
    ],
)
def test_bad_corpora_are_errors_that_leave_nothing(
    tmp_path: Path, source: str, target: str, message: str
) -> None:
    done = build(*write(tmp_path, source, target))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    import re

    assert re.search(message, done.stderr)
    assert not (tmp_path / "out").exists()


def test_a_damaged_gzip_member_is_an_error(tmp_path: Path) -> None:
    arguments = write(tmp_path, "a\n" * 2000, "x\n" * 2000)
    whole = gzip.compress(b"".join(f"word{i} number\n".encode() for i in range(2000)))
    (tmp_path / "s").write_bytes(whole[: len(whole) // 2])
    done = build(*arguments)
    assert done.returncode == 2 and "damaged gzip file" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_verb_builds_what_the_baseline_needs(tmp_path: Path) -> None:
    lines = [f"the {w} house is small ." for w in ("red", "blue", "old", "new", "big")] * 4
    done = build(*write(tmp_path, "\n".join(lines), "\n".join(lines)), "--json")
    assert done.returncode == 0, done.stderr
    parts = json.loads(done.stdout)["parts"]
    assert {"source_ngrams", "source_lm", "target_lm", "lexicon_source_to_target"} <= set(parts)
    assert list((tmp_path / "out" / "source_lm").glob("*.arpa*"))


def test_an_exported_bundle_has_the_parts_with_their_folders_and_no_text_exports(tmp_path: Path) -> None:
    bundle = bundles.build(corpus, tmp_path / "b", ORDER)
    within = bundle.path / "source_ngrams" / "models" / "words"
    within.mkdir(parents=True)
    (within / "trees.txt").write_text("tree")
    bundle.export(["source_ngrams", "source_lm"], tmp_path / "copy")
    exported = Bundle(tmp_path / "copy")
    assert (tmp_path / "copy" / "source_ngrams" / "models" / "words" / "trees.txt").read_text() == "tree"
    assert set(exported.manifest["parts"]) == {"source_ngrams", "source_lm"}
    for name in ("source_ngrams", "source_lm"):
        assert exported.part(name).fingerprint == bundle.part(name).fingerprint
    assert not list((tmp_path / "copy").rglob("*.arpa*")) and list(bundle.path.rglob("*.arpa*"))


def test_a_build_gets_a_scratch_folder_and_what_killed_builds_left_is_removed(tmp_path: Path) -> None:
    from features.resources.ngrams import NgramCounts

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
    bundles.build(corpus, folder, ORDER[:1], makers={"ngrams": make})
    assert len(seen) == 1
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        ".mine.kept",
        "corpus",
        "source_ngrams",
    ]
