"""A short fuzz of what is loaded from files; benchmarks/fuzz_loaders.py is the long one."""

import os
import time
from pathlib import Path

import pytest

from features.basics.errors import InputError
from tests.attacks.fuzzing import Target, fuzz, summed_up
from tests.attacks.models import Workshop, sealed_again
from tests.attacks.readers import readers
from tests.attacks.targets import use_model

pytestmark = pytest.mark.slow

CASES = 12  # of each target
MORE = 60  # of files of other tools, whose forms are many
OF_TOOLS = ("translated", "treebank", "annotated_texts", "corpus_annotation", "trees", "entities")
STORED = ("model.json", "profile", "intervals", "fitted", "pipeline.skops", "resources/source_lm")


def test_given_files(tmp_path: Path) -> None:
    """Scores, rankings, treebanks, decoder output, language models, lexicons, alignments, datasets."""
    faults: list[str] = []
    for target in readers(tmp_path):
        cases = MORE if target.name.startswith(OF_TOOLS) else CASES
        outcome = fuzz(target, tmp_path, seconds=2.5 * cases, most=cases)
        assert outcome.cases == cases, target.name
        faults += outcome.faults
    assert not faults, summed_up(faults)


@pytest.mark.parametrize("within", STORED)
def test_files_of_a_model(within: str, workshop: Workshop, model: Path, tmp_path: Path) -> None:
    target = Target(f"model: {within}", model, use_model, (), sealed_again, within)
    outcome = fuzz(target, tmp_path, seconds=60, most=CASES)
    assert not outcome.faults, summed_up(outcome.faults)
    assert outcome.refused, "nothing is found"


# --- what the fuzz would find ------------------------------------------------------------------------


def raises(folder: Path) -> None:
    if (folder / "a.txt").read_bytes() != b"saved 1\n":
        raise KeyError("code that does not expect this")


def dies(folder: Path) -> None:
    if (folder / "a.txt").read_bytes() != b"saved 1\n":
        os.abort()


def refuses(folder: Path) -> None:
    if (folder / "a.txt").read_bytes() != b"saved 1\n":
        raise InputError("is not what was saved")


def waits(folder: Path) -> None:
    time.sleep(0.01)


@pytest.mark.parametrize(
    ("use", "refused", "faults", "says"),
    [(raises, 0, 5, "KeyError"), (dies, 0, 5, "SIGABRT"), (refuses, 5, 0, ""), (waits, 0, 0, "")],
)
def test_tracebacks_and_deaths_are_faults(
    use: object, refused: int, faults: int, says: str, tmp_path: Path
) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "a.txt").write_text("saved 1\n")
    target = Target("small", tmp_path / "saved", use)  # type: ignore[arg-type]
    outcome = fuzz(target, tmp_path, seconds=60, most=5)
    assert (outcome.refused, len(outcome.faults)) == (refused, faults), outcome.faults
    assert all(says in fault for fault in outcome.faults)
