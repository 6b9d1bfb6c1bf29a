"""What feature families cost: measured where they can be, left out where a column is absent."""

import runpy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from features import Extractor, Feature, Segments
from features.basics.array_types import FloatArray
from features.core.feature_set import EXTRACTORS
from qe.getting_started.catalogue.feature_tables import demo_world
from qe.getting_started.catalogue.features import FeatureCosts, families
from qe.training.preparation import Prepared
from tests.shown import ROOT

STUDY: Any = SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks/studies/costs_families.py")))
KINDS = ("surface", "machine_lm", "pseudo_reference", "decoder")


@pytest.fixture(scope="module")
def data() -> Iterator[Prepared]:
    with demo_world(KINDS) as prepared:
        yield prepared


@dataclass
class _Slow(Extractor):
    """Computes for a given time."""

    seconds: float

    @property
    def features(self) -> Sequence[Feature]:
        return [Feature("a", "zeros", "test", "one")]

    def extract(self, segments: Segments) -> FloatArray:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return np.zeros((len(segments), 1))


@pytest.mark.slow
def test_cost_is_processor_time_by_segment(data: Prepared) -> None:
    segments = data.training.segments
    outcome = STUDY.cost(_Slow(0.05), segments, repeats=2)
    assert 0.05e6 / len(segments) <= outcome < 0.1e6 / len(segments)


@dataclass
class _Remembering(_Slow):
    """Computes only for segments that it has not seen, and hands none of them on to a copy."""

    seen: set[str] = field(default_factory=set)

    def extract(self, segments: Segments) -> FloatArray:
        new = set(segments.source) - self.seen
        self.seen |= new
        return super().extract(segments) if new else np.zeros((len(segments), 1))

    def __getstate__(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "seen": set()}


@pytest.mark.slow
def test_segments_that_a_family_was_fitted_on_cost_as_much_as_others(data: Prepared) -> None:
    """Memories of `word_quality` and its relatives save work between folds, not in use."""
    segments = data.training.segments
    fitted = _Remembering(0.05)
    fitted.extract(segments)
    assert STUDY.cost(fitted, segments, repeats=3) >= 0.05e6 / len(segments)
    assert fitted.seen == set(segments.source)  # what is measured is a copy


@pytest.mark.slow
def test_families_are_measured_fitted_or_not(data: Prepared) -> None:
    costs = STUDY.measure(data, "demo", KINDS, repeats=1)
    assert list(costs.families) == list(KINDS)
    assert all(value > 0 for value in (costs.tokenization, *costs.families.values()))


@pytest.mark.slow
def test_a_family_without_its_column_is_left_out(data: Prepared) -> None:
    bare = replace(data.training, segments=replace(data.training.segments, pseudo_reference=None))
    costs = STUDY.measure(replace(data, training=bare), "demo", ("surface", "pseudo_reference"), repeats=1)
    assert list(costs.families) == ["surface"]


def test_decoder_output_is_made_up_only_where_there_is_none() -> None:
    segments = STUDY.with_decoder_output(Segments(("a b",), ("c d e",)))
    assert segments.subwords == ("c d e",)
    assert segments.token_log_probabilities is not None
    assert len(segments.token_log_probabilities[0].split()) == 4  # and the end of the sentence
    assert STUDY.with_decoder_output(segments) is segments


def test_costs_come_back_as_they_were_written(tmp_path: Path) -> None:
    costs = FeatureCosts("2026-01-02", "a machine", "some data", 12.5, {"surface": 3.25, "lm": 100.0})
    STUDY.save(costs, tmp_path / "costs.yaml")
    assert FeatureCosts.load(tmp_path / "costs.yaml") == replace(
        costs, families={"surface": 3.2, "lm": 100.0}
    )


def test_the_published_costs_are_of_families_that_exist() -> None:
    costs = FeatureCosts.load()
    assert set(costs.families) <= set(STUDY.measurable())
    listed = {family.name: family.microseconds for family in families(costs)}
    assert set(listed) == set(EXTRACTORS.names)
    assert listed["surface"] == costs.families["surface"] and listed["precomputed"] is None
