"""What bundles, parts and trees refuse, a row each: the place with words of the rule, and the call."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Resource
from features.core.bundle import Bundle, build
from features.core.tree_columns import make_trees
from features.storage.checksums import sealed
from features.storage.compact import coded, length
from features.storage.damage import Damaged
from features.word_level.columns import columns_in
from tests.factories import Monkeypatch, refuses
from tests.features.core.test_bundle import ORDER, corpus
from tests.features.core.test_stored_part import counts, documents, model, morphemes, stored

Call = Callable[[], object]
B = Path("b")


def trees(**config: str) -> Call:
    return lambda: make_trees([config])


def tokenizers(tokenizer: object) -> None:
    manifest = {k: v for k, v in build(corpus, B, ORDER[:1]).manifest.items() if k != "checksum"}
    content = json.dumps(sealed({**manifest, "source_tokenizer": tokenizer}))
    (B / "manifest.json").write_text(content)
    Bundle(B).tokenizers  # noqa: B018


def vectors_of_no_dimensions() -> None:
    build(corpus, B, ["source_vectors"], settings={"source_vectors": {"dimensions": 0, "classes": 3}})


REFUSED = [
    ("there is no column 'speed'", partial(columns_in, ("lm", "place"), ("place", "speed"))),
    ("dimensions=0, classes=3", vectors_of_no_dimensions),
    *((rf"^b/manifest\.json: .*{problem}", partial(tokenizers, given))
      for given, problem in (("en", "not str"), ({"tongue": "en"}, "'tongue'"), (None, "not NoneType"))),
    ("unknown language code 7", partial(tokenizers, {"language": 7})),
    ("unknown kind of trees 'constituent'; known: const", trees(kind="constituent", side="source")),
    ("trees: every entry needs a `kind`", trees(side="source")),
    ("trees 'constituents': 'side' is needed", trees(kind="constituents")),
    ("'side' must be .*'left'", trees(kind="constituents", side="left")),
    ("'tags'; known: side, tag", trees(kind="dependencies", side="source", tags="upos")),
    ("'tag' must be 'upos' or 'xpos'", trees(kind="dependencies", side="source", tag="pos")),
]  # fmt: skip


def with_manifest(content: str, use: Call) -> None:
    build(corpus, B, ORDER[:1])
    (B / "manifest.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    use()


def another_corpus() -> None:
    build(corpus, B, ORDER[:1], provenance={"source": "1"})
    build(corpus, B, ORDER, provenance={"source": "2"})


def damaged_corpus() -> None:
    (build(corpus, B, ORDER[:1]).path / "corpus" / "source.ids.npy").unlink()
    build(corpus, B, ORDER)


SLOW = [
    (r"another corpus .*\(source: 1 there, 2 here\)", another_corpus),
    ("the encoded corpus is damaged", damaged_corpus),
    *((r"^b/manifest\.json: .*is damaged", partial(with_manifest, content, use))
      for content in ("", '{"format": 1', '{"format": 1}', "[]", "\udcff")
      for use in (lambda: Bundle(B).part(ORDER[0]), lambda: build(corpus, B, ORDER))),
]  # fmt: skip
ALL = [*REFUSED, *(pytest.param(*row, marks=pytest.mark.slow) for row in SLOW)]


@pytest.mark.parametrize(("location", "call"), ALL)
def test_refused(location: str, call: Call, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call)


def filled(part: Any, name: str, value: np.number[Any]) -> Resource:
    """The part with one value in the whole array of this name."""
    values = np.full(length(getattr(part, name)), value)
    return replace(part, **{name: values if isinstance(value, np.integer) else coded(values)})


# What a part says of itself in its files, whatever the checksums say.
DAMAGED: list[tuple[str, Call, dict[str, Any]]] = [
    ("`order` must be a whole number from 1, but got '2'", counts, {"order": "2"}),
    ("`order` must be a whole number from 1, but got 0", counts, {"order": 0}),
    ("`case` must be .*'UPPER'", counts, {"case": "UPPER"}),
    ("`side` must be .*None", counts, {"side": None}),
    ("`segments` must be a whole number .*1e[+]300", documents, {"segments": 1e300}),
    ("`segments` must be a whole number from 0 to 2147483647", documents, {"segments": 10**18}),
    ("`mean_length` must be a number from 0", documents, {"mean_length": []}),
    ("`minimum` must be a whole number from 1", model, {"minimum": {}}),
    ("`occurrences` must be .*-1", lambda: filled(counts(), "occurrences", np.int32(-1)), {}),
    ("`log10` must hold numbers from -100 to 1", lambda: filled(model(), "log10", np.float32(-1e6)), {}),
    ("`backoff` must hold numbers from -30 to 30", lambda: filled(model(), "backoff", np.float32(1e38)), {}),
    ("`counts` must be in 1 ", lambda: replace(morphemes(), counts=np.array([1, 0])), {}),
    ("`words` must be .*-5", lambda: replace(morphemes(), words=-5), {}),
]


@pytest.mark.parametrize(("location", "make", "settings"), DAMAGED)
def test_damage(location: str, make: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    refuses(location, stored, make(), tmp_path / "part", settings, error=Damaged)
