"""Colours of pages: what is written can be read by day and by night; templates have no other colours."""

import re
from pathlib import Path

import pytest

from tests.shown import ROOT

PALETTE = (ROOT / "qe" / "display" / "colours.html").read_text("utf-8")
DAY, NIGHT = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,8})", part)) for part in PALETTE.split("@media screen", 1)
)
TEMPLATES = [path for path in (ROOT / "qe").rglob("*.html") if "<style>" in path.read_text("utf-8")] + [
    ROOT / "qe" / "training" / "page.html", ROOT / "qe" / "systems" / "page.html",
    ROOT / "plugins" / "qe_human" / "effort" / "page.html",
]  # fmt: skip
# What is written in which colour, on what.
WRITTEN = [
    *((ink, paper) for ink in ("ink", "grey") for paper in ("paper", "code")),
    *((name, "paper") for name in ("link", "alarm", "moved", "marked", "gone-line", "new-line")),
    *(("ink", name) for name in ("low", "middle", "high", "mark", "form", "word", "pos", "gone", "new")),
    ("paper", "method"),
]


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance of sRGB."""
    digits = colour.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)  # the grey that just fails


@pytest.mark.parametrize(("ink", "paper"), WRITTEN, ids="-on-".join)
@pytest.mark.parametrize("scheme", ["day", "night"])
def test_what_is_written_can_be_read(scheme: str, ink: str, paper: str) -> None:
    colours = {"day": DAY, "night": NIGHT}[scheme]
    assert contrast(colours[ink], colours[paper]) >= 4.5  # level AA


def test_both_schemes_have_all_colours() -> None:
    assert DAY.keys() == NIGHT.keys()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_template_takes_its_colours_from_the_palette(template: Path) -> None:
    text = template.read_text("utf-8")
    assert not re.findall(r"[:\s(]#[0-9a-fA-F]{3,8}\b", text), "name it in qe/display/colours.html"
    assert {*re.findall(r"var\(--([\w-]+)\)", text)} <= DAY.keys()
