"""Mutated experiment files: none ends in a traceback (a minute of them: benchmarks/fuzz_yaml.py)."""

from pathlib import Path

import pytest

from tests.attacks.experiments import fuzzed


@pytest.mark.slow
def test_mutations_are_refused_in_one_message_or_accepted(tmp_path: Path) -> None:
    outcome = fuzzed(3.0, seed=1, folder=tmp_path)
    assert not outcome.faults, outcome.faults[0]
    assert outcome.counts["refused"] > 0
