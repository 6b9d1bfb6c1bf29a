"""What lies beside arrays: entries of meta.json that are of another type than was saved are damage."""

import json
from pathlib import Path

import pytest

from features.resources.ngrams import NgramCounts
from features.storage.damage import Damaged
from features.text.tokenizer import Tokenizer
from tests.factories import refuses


@pytest.mark.parametrize("settings", [1.5, None, [["order", 2]], "order"])
def test_settings_are_a_mapping(tmp_path: Path, settings: object) -> None:
    counts = NgramCounts.from_tokens(Tokenizer("en").tokens(["a house", "the house"]), order=2)
    counts.save(tmp_path)
    assert NgramCounts.load(tmp_path).settings == counts.settings
    meta = json.loads((tmp_path / "meta.json").read_text("utf-8"))
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "settings": settings}), "utf-8")
    refuses(r"`settings` in meta\.json must be a mapping", NgramCounts.load, tmp_path, error=Damaged)
