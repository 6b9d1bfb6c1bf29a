"""What is asked of every kind of resource that a small corpus can make."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from features.core.bundle import RESOURCES, build, known_parts, with_needs
from features.core.resource import Builder
from tests.factories import TOKENIZERS, corpus

PAIRS = [
    ("the red house is red", "la casa roja es roja"),
    ("the house", "la casa"),
    ("a red cat", "un gato rojo"),
    ("The cat and the house", "El gato y la casa"),
    ("a dog and a cat", "un perro y un gato"),
] * 40 + [("a grey wolf sleeps", "un lobo gris duerme")] * 3
# They need annotations, an optional package, or more text.
BEYOND = ("annotation", "morph", "synthetic_word_quality", "translated_corpus", "development_set")


def makeable(kind: str) -> list[str]:
    """The parts of the kind that the small corpus makes."""
    parts = [name for name, part in known_parts().items() if part.kind == kind]
    return [name for name in parts if not any(b in need for need in with_needs([name]) for b in BEYOND)]


@pytest.mark.parametrize("kind", RESOURCES.names)
def test_a_kind_names_its_parts_and_its_settings(kind: str) -> None:
    resource = RESOURCES.get(kind)
    assert resource.__doc__ and resource.parts
    assert issubclass(resource.builder, Builder) and resource.builder.__doc__
    for settings in resource.parts.values():
        assert set(settings) <= {name for name in resource.builder.__dataclass_fields__}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in RESOURCES.names if makeable(kind)])
def test_equal_corpora_make_equal_parts_that_load_as_they_were(kind: str, tmp_path: Path) -> None:
    part = makeable(kind)[0]
    few = {f"{side}_stop_words": {"max_words": 3} for side in ("source", "target")}  # other words are left
    one, two = (
        build(lambda: corpus(PAIRS, TOKENIZERS), tmp_path / name, [part], settings=few).part(part)
        for name in ("one", "two")
    )
    assert one.fingerprint == two.fingerprint and type(one) is RESOURCES.get(kind)
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one" / part).rglob("*")}
    for path in sorted(files):
        if (tmp_path / "one" / path).is_file() and path.suffix == ".npy":
            left, right = (np.load(tmp_path / name / path) for name in ("one", "two"))
            np.testing.assert_array_equal(left, right)
    # What is saved and loaded, or pickled, is the same.
    (tmp_path / "again").mkdir()
    one.save(tmp_path / "again")
    for copy in (type(one).load(tmp_path / "again"), pickle.loads(pickle.dumps(one))):
        assert copy.fingerprint == one.fingerprint
        assert dict(copy.settings) == dict(one.settings)
        for name, value in vars(one).items():
            if isinstance(value, np.ndarray | tuple | str | float):
                np.testing.assert_equal(getattr(copy, name), value)
