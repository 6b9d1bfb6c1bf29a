"""What is asked of every kind of resource that a small corpus can make."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import ParallelCorpus, Tokenizer
from features.core.bundle import RESOURCES, Bundle, build, known_parts, with_needs
from features.core.resource import Builder, Resource

SOURCE = [
    "the red house is red",
    "the house",
    "a red cat",
    "The cat and the house",
    "a dog and a cat",
] * 40 + ["a grey wolf sleeps"] * 3
TARGET = [
    "la casa roja es roja",
    "la casa",
    "un gato rojo",
    "El gato y la casa",
    "un perro y un gato",
] * 40 + ["un lobo gris duerme"] * 3
# They need annotations, an optional package, or more text.
BEYOND = ("annotation", "morph", "synthetic_word_quality", "translated_corpus", "development_set")

# Other words are left.
FEW_STOP_WORDS = {f"{side}_stop_words": {"max_words": 3} for side in ("source", "target")}


def corpus() -> ParallelCorpus:
    pairs = list(zip(SOURCE, TARGET, strict=True))
    return ParallelCorpus.from_lines(pairs, Tokenizer("en"), Tokenizer("es"))


def makeable(kind: str) -> list[str]:
    """The parts of the kind that the small corpus makes."""
    parts = [name for name, part in known_parts().items() if part.kind == kind]
    return [name for name in parts if not any(b in need for need in with_needs([name]) for b in BEYOND)]


KINDS = [kind for kind in RESOURCES.names if makeable(kind)]


@pytest.mark.parametrize("kind", RESOURCES.names)
def test_a_kind_names_its_parts_and_its_settings(kind: str) -> None:
    resource = RESOURCES.get(kind)
    assert resource.__doc__ and resource.parts
    assert issubclass(resource.builder, Builder) and resource.builder.__doc__
    for settings in resource.parts.values():
        assert set(settings) <= {name for name in resource.builder.__dataclass_fields__}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equal_corpora_make_equal_parts_that_load_as_they_were(kind: str, tmp_path: Path) -> None:
    part = makeable(kind)[0]
    bundles: list[Bundle] = [
        build(corpus, tmp_path / name, [part], settings=FEW_STOP_WORDS) for name in ("one", "two")
    ]
    one, two = (bundle.part(part) for bundle in bundles)
    assert one.fingerprint == two.fingerprint and type(one) is RESOURCES.get(kind)
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one" / part).rglob("*")}
    for path in sorted(files):
        if (tmp_path / "one" / path).is_file() and path.suffix == ".npy":
            left, right = (np.load(tmp_path / name / path) for name in ("one", "two"))
            np.testing.assert_array_equal(left, right)
    again(one, tmp_path)


def again(resource: Resource, folder: Path) -> None:
    """What is saved and loaded, or pickled, is the same."""
    (folder / "again").mkdir()
    resource.save(folder / "again")
    copies: list[Any] = [type(resource).load(folder / "again"), pickle.loads(pickle.dumps(resource))]
    for copy in copies:
        assert copy.fingerprint == resource.fingerprint
        assert dict(copy.settings) == dict(resource.settings)
        for name, value in vars(resource).items():
            if isinstance(value, np.ndarray | tuple | str | float):
                np.testing.assert_equal(getattr(copy, name), value)
