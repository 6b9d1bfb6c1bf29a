"""Nodes of skops files: what they stand for, as skops itself reads them."""

import io
import json
import zipfile
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
import skops.io

from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline_file import build_object
from tests.learning.learners import test_learners as learners
from tests.learning.selectors import test_selection as selectors


def reread(thing: Any) -> Any:
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(thing))) as archive:
        return build_object(archive, json.loads(archive.read("schema.json")))


SHARED = np.arange(3.0)
CONTAINERS = {
    "numbers": [1, 2.5, True, None, "text", float("inf")],
    "keys that are no text": {1: "a", 2: {"b": (3, 4)}},
    "an ordered dictionary": OrderedDict([("b", 1), ("a", 2)]),
    "a dictionary with a default": defaultdict(list, {"a": [1]}),
    "a set": {1, 2},
    "types": [int, float, np.float32],
    "an array": np.arange(6, dtype=np.int32).reshape(2, 3),
    "a number of numpy": np.float64(0.5),
    "an array type": np.dtype("<i2"),
    "one array twice": [SHARED, SHARED],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_are_as_skops_reads_them(name: str) -> None:
    thing = CONTAINERS[name]
    expected = skops.io.loads(skops.io.dumps(thing), trusted=["numpy.dtype"])
    again = reread(thing)
    assert type(again) is type(expected)
    np.testing.assert_equal(again, expected)


def test_what_is_there_once_is_made_once() -> None:
    first, second = reread([SHARED, SHARED])
    assert first is second


def test_arrays_of_objects_keep_their_shape() -> None:
    rows = np.empty(2, object)
    rows[:] = [[1, 2], [3, 4]]
    assert reread(rows).tolist() == [[1, 2], [3, 4]]
    assert reread(rows).shape == (2,)
    table = np.array([["a", 1], ["b", 2]], object)
    np.testing.assert_array_equal(reread(table), table)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS.names)
def test_learners_are_as_skops_reads_them(name: str) -> None:
    X, y = learners.data()
    fitted = learners.make(name, seed=3).fit(X, y)
    kind = type(fitted)
    trusted = {*LEARNERS.get(name).trusted_types, f"{kind.__module__}.{kind.__qualname__}"}
    read = skops.io.loads(skops.io.dumps(fitted), trusted=sorted(trusted))
    np.testing.assert_array_equal(reread(fitted).predict(X), read.predict(X))


@pytest.mark.parametrize("name", SELECTORS.names)
def test_selectors_are_as_skops_reads_them(name: str) -> None:
    X, y = selectors.data()
    fitted = selectors.make(name).fit(X, y)
    np.testing.assert_array_equal(reread(fitted).transform(X), fitted.transform(X))
