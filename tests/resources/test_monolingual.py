"""Further text of one side: parts are those of a corpus that has it, and no other part sees it."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from features import ParallelCorpus, Tokenizer
from features.resources.language_model import LanguageModel
from features.resources.ngrams import NgramCounts
from qe.config import load
from qe.resources.bundle_source import Inputs
from qe.resources.corpora import Monolingual
from qe_papers.resources.truecaser import Truecaser
from tests.factories import ran
from tests.resources.building import (
    build_bundle,
    build_command,
    build_times,
    task_bundle,
    write_experiment,
    write_lines,
)

SOURCE = ["the red house", "It's a cat", "the house"] * 2
TARGET = ["la casa roja", "es un gato", "la casa"] * 2
MORE = ["El gato de Ana, la casa", "", "   ", "de Ana es el gato"]
PARTS = ["target_lm", "target_lm_backward", "target_ngrams5", "target_truecaser"]
OTHERS = ["source_lm", "source_truecaser", "lexicon_source_to_target", "target_index"]


def write(folder: Path, more: list[str], *, gzipped: bool = False) -> Path:
    write_lines(folder / "s", SOURCE)
    write_lines(folder / "t", TARGET)
    return write_lines(folder / "more", more, gzipped=gzipped)


def further(path: Path | None) -> Inputs:
    return Inputs(monolingual=Monolingual.from_files(None, path))


@pytest.mark.slow
@pytest.mark.parametrize("gzipped", [False, True])
def test_the_parts_are_those_of_a_corpus_with_the_text(tmp_path: Path, gzipped: bool) -> None:
    bundle = build_bundle(tmp_path, PARTS, further(write(tmp_path, MORE, gzipped=gzipped)))
    lines = [*TARGET, *(line for line in MORE if line.strip())]
    longer = ParallelCorpus.from_lines([("x", line) for line in lines], Tokenizer("en"), Tokenizer("es"))
    text = Tokenizer("es").tokens(["el gato de ana, la casa", "De Ana", "Nadie"])
    for part, direction in (("target_lm", "forward"), ("target_lm_backward", "backward")):
        expected = LanguageModel.from_tokens(longer.target, order=5, direction=cast(Any, direction))
        model = cast(LanguageModel, bundle.part(part))
        np.testing.assert_array_equal(model.log10_probability(text), expected.log10_probability(text))
    counts = cast(NgramCounts, bundle.part("target_ngrams5"))
    # gato, ana, casa and the comma by hand: 2 + 2, 0 + 2, 4 + 1, 0 + 1
    words = Tokenizer("es").tokens(["gato ana casa ,"])
    assert counts.counts(words, 1)[0].tolist() == [4, 2, 5, 1]
    assert counts.total(1) == len(longer.target.ids)
    caser = cast(Truecaser, bundle.part("target_truecaser"))
    assert caser.usual(("ANA", "EL")) == ["Ana", "el"]
    assert caser.spellings == Truecaser.from_tokens(longer.target).spellings


@pytest.mark.slow
def test_no_other_part_changes(tmp_path: Path) -> None:
    more = write(tmp_path, MORE)
    parts = [*OTHERS, "target_lm"]
    with_text = build_bundle(tmp_path, parts, further(more)).manifest["parts"]
    without = build_bundle(tmp_path, parts, output="without").manifest["parts"]
    for part in OTHERS:
        assert with_text[part]["fingerprint"] == without[part]["fingerprint"]
    assert with_text["target_lm"]["fingerprint"] != without["target_lm"]["fingerprint"]
    assert (
        with_text["target_lm"]["settings"]["monolingual"]
        == Monolingual.from_files(None, more).fingerprints["target"]
    )


@pytest.mark.slow
def test_other_text_builds_again_and_the_same_does_not(tmp_path: Path) -> None:
    parts = ["target_lm", "target_ngrams", "source_lm"]

    def run(more: list[str] | None) -> list[int]:
        path = write(tmp_path, more or [])
        build_bundle(tmp_path, parts, further(path if more else None))
        return build_times(tmp_path, parts)

    first, same, other, none = run(MORE), run(MORE), run(MORE[:1]), run(None)
    assert first == same and first[2] == none[2]
    assert first[0] < other[0] < none[0] and first[1] < other[1] < none[1]


@pytest.mark.slow
def test_experiments_name_the_text(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write(tmp_path / "data", MORE)
    listed = []
    for more in ("", ", target_monolingual: more"):
        path = write_experiment(tmp_path, f"{{source: s, target: t{more}}}")
        section = load(path, data_root=tmp_path / "data").resources
        bundle = task_bundle(tmp_path, section, "target_ngrams")
        counts = cast(NgramCounts, bundle.part("target_ngrams"))
        listed.append((counts.counts(Tokenizer("es").tokens(["gato"]), 1)[0].tolist(), bundle.path))
    assert [count for count, _ in listed] == [[2], [4]] and listed[0][1] != listed[1][1]


@pytest.mark.slow
def test_the_verb(tmp_path: Path) -> None:
    command = build_command(tmp_path, "--target-monolingual", write(tmp_path, MORE), "--only")
    done = ran(*command, "target_lm")
    manifest = json.loads(done.out)
    assert manifest["parts"]["target_lm"]["settings"]["monolingual"]
    assert manifest["pairs"] == len(SOURCE)
    assert "takes target text" in ran(*command, "source_lm", code=2).err
