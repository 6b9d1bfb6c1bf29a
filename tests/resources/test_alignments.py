"""Alignments made elsewhere reach the parts that are extracted from aligned text, and only those."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from features.core.bundle import Bundle
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from qe.config.experiment import ResourcesSection
from qe.resources.bundle_source import Inputs
from qe.resources.corpora import Alignments
from tests.factories import ran, tokens
from tests.resources.building import (
    build_bundle,
    build_command,
    build_times,
    task_bundle,
    write_lines,
)

# The second pair has an empty side, so the corpus drops it.
SOURCE = ["red house", "", "the red house"]
TARGET = ["casa roja", "nada", "la casa roja"]
LINKS = ["0-1 1-0", "", "0-0 1-2 2-1"]
PARTS = ["phrase_table", "tuple_lm"]


def write(folder: Path, links: list[str], *, gzipped: bool = False) -> Path:
    write_lines(folder / "s", SOURCE)
    write_lines(folder / "t", TARGET)
    return write_lines(folder / "links", links, gzipped=gzipped)


def built(folder: Path, alignments: Path | None, parts: list[str] = PARTS) -> Bundle:
    """A bundle whose phrase pairs and units need to be seen twice."""
    return build_bundle(folder, parts, Inputs(Alignments(alignments)))


def phrases(bundle: Bundle, words: str, part: str = "phrase_table") -> set[str]:
    """The translations of a phrase."""
    table = cast(PhraseTable, bundle.part(part))
    row = table.phrases(tokens(words), "source")[0, len(words.split()) - 1]
    entries = table.target[table.offsets[row] : table.offsets[row + 1]] if row >= 0 else []
    return {table.phrase(entry) for entry in entries}


@pytest.mark.slow
@pytest.mark.parametrize("gzipped", [False, True])
def test_phrases_and_units_are_those_of_the_links_past_empty_pairs(tmp_path: Path, gzipped: bool) -> None:
    bundle = built(tmp_path, write(tmp_path, LINKS, gzipped=gzipped))
    assert phrases(bundle, "red") == {"roja"} and phrases(bundle, "house") == {"casa"}
    assert phrases(bundle, "red house") == {"casa roja"}
    words = cast(TupleLM, bundle.part("tuple_lm")).model.vocabulary.words
    assert {"casa|||house", "roja|||red"} <= set(words)
    assert "aligner" not in bundle.manifest["parts"]  # nothing that was asked for needs it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "word", "translation"),
    [
        ("phrase_table", "red", "casa"),
        ("lemma_phrase_table", "red", "casa"),
        ("stem_phrase_table", "red", "casa"),
        ("name_phrase_table", "red", "casa"),
        ("back_phrase_table", "casa", "red"),
    ],
)
def test_tables_of_all_levels_follow_links(tmp_path: Path, part: str, word: str, translation: str) -> None:
    """Links that are crossed in the wrong way make `red` a translation of `casa` at every level."""
    bundle = built(tmp_path, write(tmp_path, ["0-0 1-1", "", "0-0 1-1 2-2"]), [part])
    assert phrases(bundle, word, part) == {translation}
    assert set(bundle.manifest["parts"]) == {part}


@pytest.mark.slow
def test_other_links_build_again_and_the_same_do_not(tmp_path: Path) -> None:
    first = built(tmp_path, write(tmp_path, LINKS)).manifest["parts"]
    before = build_times(tmp_path, PARTS)
    built(tmp_path, tmp_path / "links")
    assert build_times(tmp_path, PARTS) == before
    second = built(tmp_path, write(tmp_path, ["0-0", "", "1-1"])).manifest["parts"]
    own = built(tmp_path, None).manifest["parts"]
    for part in PARTS:
        assert len({parts[part]["fingerprint"] for parts in (first, second, own)}) == 3
        assert first[part]["settings"]["alignments"] != second[part]["settings"]["alignments"]
        assert "alignments" not in own[part]["settings"] and own[part]["needs"].keys() == {"aligner"}


@pytest.mark.slow
def test_experiments_name_a_file_and_do_not_disturb_those_without(tmp_path: Path) -> None:
    write(tmp_path, LINKS)
    collected: list[dict[str, Any]] = []
    for alignments in (None, tmp_path / "links", None):
        section = ResourcesSection(source=tmp_path / "s", target=tmp_path / "t", alignments=alignments)
        bundle = task_bundle(tmp_path, section, "phrase_table")
        collected.append({"path": bundle.path, **bundle.manifest["parts"]["phrase_table"]})
    assert collected[0] == collected[2] and collected[0]["path"] != collected[1]["path"]
    assert collected[1]["settings"]["alignments"] == Alignments(tmp_path / "links").fingerprint


@pytest.mark.slow
def test_the_verb(tmp_path: Path) -> None:
    """As written by `qe align` for the very same corpus, or with a link too far: exit codes 0 and 2."""
    links = write(tmp_path, LINKS)
    command = build_command(tmp_path, "--only", "phrase_table", "--alignments", links)
    done = ran(*command)
    assert json.loads(done.out)["parts"]["phrase_table"]["settings"]["alignments"]
    write(tmp_path, ["0-9", "", ""])
    assert f"{links}:1" in ran(*command, code=2).err
