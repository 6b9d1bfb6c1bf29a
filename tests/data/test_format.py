"""Formats: what is asked of each, and what `qe data formats` says of them."""

from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from features.basics.errors import InputError
from qe.data.format import FORMATS, Format, examples, make_format, page
from qe.data.headers import HEADERS
from tests.factories import ran

# Keys without a default, of the formats that have any.
REQUIRED: dict[str, Any] = {
    "splits": {"train": {"source": "s", "target": "t", "scores": "y"}},
    "label": {"name": "score", "low": 0, "high": 1, "higher_is_better": True},
    "source_language": "en",
    "target_language": "es",
    "pair": "en-de",
    "columns": {"scores": "score"},
    "pairs": {"en-de": {"format": "mlqe_pe", "path": "."}},
}


def new_format(name: str) -> Format:
    kind: Any = FORMATS.get(name)
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    texts = {"batches": "batches.json"} if name == "appraise" else {}
    return make_format(name, {key: REQUIRED[key] for key in needed if key in REQUIRED} | texts)


@pytest.mark.parametrize("name", FORMATS.names)
def test_it_is_a_documented_dataclass_that_is_made_of_its_keys(name: str) -> None:
    kind = FORMATS.get(name)
    assert is_dataclass(kind) and kind.__doc__ and not kind.__doc__.startswith(kind.__name__ + "(")
    assert isinstance(new_format(name), kind)


@pytest.mark.parametrize("name", FORMATS.names)
def test_what_is_not_there_and_what_is_no_dataset_is_one_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        new_format(name).read(tmp_path / "absent")
    (tmp_path / "noise").write_bytes(b"\xff\x00\xfe\n" * 3)
    with pytest.raises(InputError):
        new_format(name).read(tmp_path / "noise")


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
