"""Alignments made elsewhere reach the parts that are extracted from aligned text, and only those."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from features.basics.errors import InputError
from features.basics.progress import silent
from features.core.bundle import Bundle
from features.core.segments import Segments
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.config.experiment import ResourcesSection, load
from qe.resources.alignments import Alignments
from qe.resources.bundle_source import Inputs
from qe.resources.cache import resources_for
from tests.resources.building import build_bundle

# The second pair has an empty side, so the corpus drops it.
SOURCE = ["red house", "", "the red house"]
TARGET = ["casa roja", "nada", "la casa roja"]
LINKS = ["0-1 1-0", "", "0-0 1-2 2-1"]
PARTS = ["phrase_table", "tuple_lm"]


def write(folder: Path, links: list[str], *, gzipped: bool = False) -> Path:
    for name, lines in (("s", SOURCE), ("t", TARGET)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    content = "".join(f"{line}\n" for line in links).encode()
    path = folder / "links"
    path.write_bytes(gzip.compress(content, mtime=0) if gzipped else content)
    return path


def built(folder: Path, alignments: Path | None, parts: list[str] = PARTS) -> Bundle:
    """A bundle whose phrase pairs and units need to be seen twice."""
    files = folder / "s", folder / "t"
    inputs = Inputs(Alignments(alignments))
    return build_bundle(*files, ("en", "es"), "moses", folder / "b", parts, silent, inputs=inputs)


def phrases(bundle: Bundle, words: str) -> set[str]:
    """The translations of a source phrase."""
    table = cast(PhraseTable, bundle.part("phrase_table"))
    text = Segments.from_columns({"source": [words], "target": ["x"]}, *bundle.tokenizers).source_tokens
    row = table.phrases(text, "source")[0, len(text.ids) - 1]
    return (
        {table.phrase(t) for t in table.target[table.offsets[row] : table.offsets[row + 1]]}
        if row >= 0
        else set()
    )


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
def test_crooked_links_give_other_phrases(tmp_path: Path) -> None:
    bundle = built(tmp_path, write(tmp_path, ["0-0 1-1", "", "0-0 1-1 2-2"]))
    assert phrases(bundle, "red") == {"casa"}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["lemma", "stem", "name"])
def test_tables_of_other_levels_are_made_of_the_links(tmp_path: Path, level: str) -> None:
    """Links that are crossed in the wrong way make `red` a translation of `casa` at every level."""
    name = f"{level}_phrase_table"
    bundle = built(tmp_path, write(tmp_path, ["0-0 1-1", "", "0-0 1-1 2-2"]), [name])
    table = cast(PhraseTable, bundle.part(name))
    row = table.phrases(Tokens.from_lists([["red"]]), "source")[0, 0]
    assert table.phrase(table.target[table.offsets[row]]) == "casa"
    assert set(bundle.manifest["parts"]) == {name}


@pytest.mark.slow
def test_the_swapped_table_is_made_of_the_links(tmp_path: Path) -> None:
    bundle = built(tmp_path, write(tmp_path, ["0-0 1-1", "", "0-0 1-1 2-2"]), ["back_phrase_table"])
    table = cast(PhraseTable, bundle.part("back_phrase_table"))
    row = table.phrases(Tokens.from_lists([["casa"]]), "source")[0, 0]
    assert table.phrase(table.target[table.offsets[row]]) == "red"
    assert set(bundle.manifest["parts"]) == {"back_phrase_table"}


@pytest.mark.slow
def test_other_links_build_again_and_the_same_do_not(tmp_path: Path) -> None:
    def times() -> list[int]:
        return [(tmp_path / "b" / part / "meta.json").stat().st_mtime_ns for part in PARTS]

    first = built(tmp_path, write(tmp_path, LINKS)).manifest["parts"]
    before = times()
    built(tmp_path, tmp_path / "links")
    assert times() == before
    second = built(tmp_path, write(tmp_path, ["0-0", "", "1-1"])).manifest["parts"]
    own = built(tmp_path, None).manifest["parts"]
    for part in PARTS:
        assert len({parts[part]["fingerprint"] for parts in (first, second, own)}) == 3
        assert first[part]["settings"]["alignments"] != second[part]["settings"]["alignments"]
        assert "alignments" not in own[part]["settings"] and own[part]["needs"].keys() == {"aligner"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("links", "message"),
    [
        (LINKS[:2], "2 lines of links, but the corpus has 3 lines"),
        ([*LINKS[:2], "0-0 0-3"], "links:3: the link 0-3 points outside .3 source and 3 target tokens"),
        ([LINKS[0], "0-0", LINKS[2]], "links:2: the link 0-0 points outside"),
        (["0-1 x", *LINKS[1:]], "links:1: expected links like 0-0, but found 'x'"),
        ([*LINKS[:2], "0-99999999999"], "links:3: expected links like 0-0"),
    ],
)
def test_links_that_do_not_fit_name_file_and_line(tmp_path: Path, links: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        built(tmp_path, write(tmp_path, links))
    assert str(tmp_path / "links") in str(raised.value)


@pytest.mark.slow
def test_a_file_that_is_not_there_or_not_taken_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, LINKS)
    with pytest.raises(InputError, match="no such file"):
        built(tmp_path, tmp_path / "other")
    with pytest.raises(InputError, match="none of the parts to be built takes alignments"):
        built(tmp_path, tmp_path / "links", ["source_ngrams"])
    assert not (tmp_path / "b" / "phrase_table").exists()


@pytest.mark.slow
def test_experiments_name_a_file_and_do_not_disturb_those_without(tmp_path: Path) -> None:
    write(tmp_path, LINKS)
    tokenizers = Tokenizer("en"), Tokenizer("es")
    segments = Segments.from_columns({"source": ["a"], "target": ["b"]}, *tokenizers)
    collected: list[dict[str, Any]] = []
    for alignments in (None, tmp_path / "links", None):
        section = ResourcesSection(source=tmp_path / "s", target=tmp_path / "t", alignments=alignments)
        bundle = resources_for(section, segments, ["phrase_table"], tmp_path / "cache", silent)
        assert bundle is not None
        collected.append({"path": bundle.path, **bundle.manifest["parts"]["phrase_table"]})
    assert collected[0] == collected[2] and collected[0]["path"] != collected[1]["path"]
    assert collected[1]["settings"]["alignments"] == Alignments(tmp_path / "links").fingerprint


def test_the_path_in_an_experiment_is_relative_to_the_data(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "name: e\ndataset: {format: wmt12, path: d}\n"
        "resources: {source: s, target: t, alignments: a/links.gz}\n"
        "features: [surface]\nlearner: {kind: ridge}\n",
        "utf-8",
    )
    section = load(tmp_path / "e.yaml", data_root=tmp_path / "data").resources
    assert section is not None and section.alignments == (tmp_path / "data" / "a" / "links.gz").resolve()


@pytest.mark.slow
def test_the_verb(tmp_path: Path) -> None:
    """As written by `qe align` for the very same corpus, or with a link too far: exit codes 0 and 2."""
    links = write(tmp_path, LINKS)
    command = [sys.executable, "-m", "qe", "resources", "build", "--source", str(tmp_path / "s")]
    command += ["--target", str(tmp_path / "t"), "--output", str(tmp_path / "b"), "--only", "phrase_table"]
    command += ["--alignments", str(links), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parts"]["phrase_table"]["settings"]["alignments"]
    write(tmp_path, ["0-9", "", ""])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 2 and f"{links}:1" in done.stderr and "Traceback" not in done.stderr
    assert "whitespace" in done.stderr
