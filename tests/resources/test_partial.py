"""A corpus too small for some part: the part is named, and the others are built."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from features import ParallelCorpus, Resource
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core import bundle as bundles
from features.core.bundle import Bundle, with_needs
from qe.resources.bundle_source import Build, build_possible
from tests.factories import refuses

PARTS = ["source_ngrams", "source_lm", "phrase_table", "lexicon_source_to_target"]


def builder(folder: Path, failing: str, location: object = None) -> Build:
    """A bundle of four pairs where the kind `failing` cannot be built."""

    def fail(*_: object, **__: object) -> Resource:
        raise InputError("needs more pairs", location=location, remedy="give more")

    def corpus() -> ParallelCorpus:
        return ParallelCorpus.from_lines([("a house", "una casa"), ("the house", "la casa")] * 2)

    def build(parts: Sequence[str], progress: Progress) -> Bundle:
        return bundles.build(corpus, folder, parts, progress=progress, builders={failing: fail})

    return build


def test_a_part_that_fails_is_named(tmp_path: Path) -> None:
    build = builder(tmp_path / "b", "language_model")
    refuses(
        "^the part 'source_lm' .*more pairs; give", build_possible, build, PARTS, silent, with_needs(PARTS)
    )


@pytest.mark.slow
def test_all_others_are_built_and_what_needs_it_is_left_out(tmp_path: Path) -> None:
    failing = with_needs(["phrase_table"])[0]
    kind = bundles.known_parts()[failing].kind
    expected = [name for name in PARTS if failing not in with_needs([name])]
    bundle, left_out = build_possible(builder(tmp_path / "b", kind), PARTS, silent)
    assert "phrase_table" in left_out
    assert {reason.problem for reason in left_out.values()} == {"needs more pairs"}
    assert expected and set(expected) == set(PARTS) - set(left_out)
    assert set(expected) <= set(bundle.manifest["parts"]) and "phrase_table" not in bundle.manifest["parts"]


@pytest.mark.slow
def test_a_fault_in_a_file_is_no_reason_to_leave_a_part_out(tmp_path: Path) -> None:
    build = builder(tmp_path / "b", "language_model", location="links.gz:3")
    for requested in (with_needs(PARTS), ()):
        refuses(r"^links.gz:3: needs more pairs", build_possible, build, PARTS, silent, requested)


def test_an_error_before_the_first_part_is_raised_as_it_is(tmp_path: Path) -> None:
    def build(parts: Sequence[str], progress: Progress) -> Bundle:
        progress("reading", 0, None)
        raise InputError("no pairs")

    for requested in (with_needs(PARTS), ()):
        refuses(r"^no pairs$", build_possible, build, PARTS, silent, requested)


@pytest.mark.slow
def test_a_part_that_was_asked_for_is_not_left_out(tmp_path: Path) -> None:
    build = builder(tmp_path / "b", "language_model")
    refuses("^the part 'source_lm' .*more pairs", build_possible, build, PARTS, silent, ["source_lm"])
    _, left_out = build_possible(build, PARTS, silent, ["source_ngrams"])
    assert set(left_out) == {"source_lm"}
