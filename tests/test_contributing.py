"""The examples of CONTRIBUTING.md do what the guide says: one file each, found by its name."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from features.core.feature_set import FeatureSet
from features.core.segments import Segments

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"
EXAMPLES = dict(re.findall(r"```python (\S+)\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL))


@pytest.fixture(autouse=True)
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example files, as if they lay in their packages."""
    for name, code in EXAMPLES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        package = importlib.import_module(".".join(Path(name).parts[:-1]))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
    yield
    for name in EXAMPLES:
        sys.modules.pop(".".join(Path(name).with_suffix("").parts), None)


def test_the_guide_has_the_four_examples() -> None:
    assert sorted(Path(name).stem for name in EXAMPLES) == ["huber", "numbered", "shouting", "within_one"]


def test_the_extractor() -> None:
    made = FeatureSet.make([{"kind": "shouting", "shortest": 3}], None)
    table = made.extract(Segments(("a", "b"), ("NO ESO", "")))
    assert table.columns.tolist() == ["shouting_target"]
    assert table.iloc[0, 0] == 0.5 and np.isnan(table.iloc[1, 0])


def test_the_learner() -> None:
    from qe.experiment import StrategySection
    from qe.pipeline import Candidate
    from qe.search import learner_space

    assert set(learner_space(StrategySection(kind="huber"))) == {"epsilon", "alpha"}
    x = np.linspace(-1, 1, 40)[:, np.newaxis]
    fitted = Candidate("huber", {"alpha": 1e-5}).estimator(0).fit(x, 3 + x[:, 0])
    assert fitted.coef_[0] == pytest.approx(1, abs=1e-3)


def test_the_metric() -> None:
    from qe.metrics._base import METRICS

    metric = METRICS.get("within_one")()
    assert metric.score(np.array([1.0, 2.0, 3.0]), np.array([1.2, 4.0, 3.0])) == pytest.approx(2 / 3)


def test_the_format(tmp_path: Path) -> None:
    from qe.formats._base import FORMATS

    path = tmp_path / "pairs.txt"
    path.write_text("a house\nuna casa\n")
    dataset = FORMATS.get("numbered")().read(path)
    assert dataset.split("test").segments.target == ("una casa",)
