"""What `qe data formats` says of the formats: as the classes have it, and true."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from qe.data.format import FORMATS, examples, make_format, page
from qe.data.headers import HEADERS
from tests.factories import ran

PAGE = Path(__file__).resolve().parents[2] / "docs" / "init.md"


def test_the_page_has_every_format_with_its_keys() -> None:
    text = page()
    for name in FORMATS.names:
        assert f"### `{name}`" in text
        for entry in fields(FORMATS.get(name)):  # type: ignore[arg-type]
            assert f"| `{entry.name}` |" in text


@pytest.mark.parametrize("name", examples())
def test_the_example_can_be_read(name: str, tmp_path: Path) -> None:
    example = examples()[name]
    for file, content in example.files.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    section = yaml.safe_load(example.section)["dataset"]
    assert section.pop("format") == name
    root = tmp_path / section.pop("path")
    dataset = make_format(name, section).read(root)
    train = dataset.splits["train"]
    assert train.scores is not None
    assert all(split.scores is None for other, split in dataset.splits.items() if other != "train")
    read = {(root / file).relative_to(tmp_path).as_posix() for file in dataset.provenance}
    assert read == {*example.files}


def test_the_page_has_every_header_that_is_recognised() -> None:
    text = PAGE.read_text("utf-8")
    for role, headers in HEADERS.items():
        assert f"| `{role}` | {', '.join(f'`{header}`' for header in headers)} |" in text


def test_the_verb_shows_one() -> None:
    assert ran("data", "formats", "table").out == page(["table"])
