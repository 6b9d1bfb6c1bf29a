"""Drawing: the kind of a plot by its ending, more of them beside a PNG, the same bytes each time."""

from pathlib import Path

import pytest

from qe.display.charts import panels, save
from qe.display.output_schemas import PLOTS
from tests.factories import refuses

pytestmark = pytest.mark.slow

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def draw(path: Path) -> None:
    figure, (axes,) = panels(3, 2)
    axes.plot([1, 2, 3], [1, 3, 2])
    axes.set_title("Quality")
    save(figure, path)


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_the_ending_says_the_kind(kind: str, tmp_path: Path) -> None:
    draw(tmp_path / f"one.{kind}")
    draw(tmp_path / f"two.{kind}")
    one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
    assert one == two and one.startswith(BEGINNINGS[kind])
    assert b"/Type3" not in one  # a kind of font that some publishers refuse


def test_more_kinds_stand_beside_a_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(tmp_path / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    monkeypatch.setenv(PLOTS, "svg, PDF")
    draw(tmp_path / "b.png")
    draw(tmp_path / "c.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.pdf", "b.png", "b.svg", "c.svg"]
    monkeypatch.setenv(PLOTS, "eps")
    refuses("QE_PLOTS: .*'eps'; known: png", draw, tmp_path / "d.png")
