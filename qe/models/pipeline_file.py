"""pipeline.skops: the fitted pipeline of a model, checked before any object is created."""

import importlib
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from features.basics.errors import InputError
from features.storage.boosted_trees import check_trees
from features.storage.damage import Damaged, damage_reported
from features.syntax.trees import Trees, column
from qe.learning.arrays import check_estimators, estimators
from qe.learning.learner import LEARNERS
from qe.models.pipeline import Candidate

Node = Mapping[str, Any]


def build_object(archive: zipfile.ZipFile, root: Node) -> Any:
    return _Maker(archive).make(root)


class _Maker:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self._made: dict[int, Any] = {}

    def make(self, node: Node) -> Any:
        number = node["__id__"]
        if number not in self._made:
            self._made[number] = self._new(node)
        return self._made[number]

    def _new(self, node: Node) -> Any:
        match node["__loader__"]:
            case "DictNode":
                content, key_types = node["content"], self.make(node["key_types"])
                items = zip(key_types, content.items(), strict=True)
                return _class_of(node)((kind(key), self.make(value)) for kind, (key, value) in items)
            case "DefaultDictNode":
                content = node["content"]
                return defaultdict(self.make(content["default_factory"]), self.make(content["main"]))
            case "ListNode" | "TupleNode" | "SetNode":
                return _class_of(node)([self.make(item) for item in node["content"]])
            case "JsonNode":
                return json.loads(node["content"])
            case "TypeNode":
                return _class_of(node)
            case "DTypeNode":
                return self.make(node["content"]).dtype
            case "NdArrayNode":
                return self._array(node)
            case "ObjectNode":
                return self._estimator(node)
        raise KeyError(node["__loader__"])

    def _array(self, node: Node) -> Any:
        if node["type"] != "json":
            content = np.load(io.BytesIO(self.archive.read(node["file"])), allow_pickle=False)
            return content if _class_of(node) is np.ndarray else _class_of(node)(content)
        items, shape = [self.make(item) for item in node["content"]], self.make(node["shape"])
        if len(shape) > 1:
            return np.array(items, dtype=object)
        row = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # one by one, because numpy would turn lists into axes
            row[place] = item
        return row

    def _estimator(self, node: Node) -> Any:
        kind = _class_of(node)
        thing, state = kind.__new__(kind), node.get("content")
        attributes = None if state is None else self.make(state)
        if attributes is not None and hasattr(thing, "__setstate__"):
            thing.__setstate__(attributes)
        elif attributes is not None:
            vars(thing).update(attributes)
        return thing


def _class_of(node: Node) -> Any:
    return getattr(importlib.import_module(node["__module__"]), node["__class__"])


_SCHEMA = "schema.json"
_PROTOCOLS = (2,)  # supported skops protocols
_REMEDY = "load only models that this project wrote; restore the file from a copy, or train the model again"
_BOOSTER = "lightgbm.basic.Booster"
_NO_ESTIMATORS = (_BOOSTER, "features.syntax.trees.Trees")  # checked as text, and by its reader
_NUMPY = frozenset(f"numpy.{t.__name__}" for t in np.sctypeDict.values()) - {"numpy.object_", "numpy.void"}
_PLAIN = frozenset(f"builtins.{name}" for name in ("str", "int", "float", "bool"))
# Node kinds of our models, and the names allowed in each. None of them calls anything with
# arguments from the file, except containers and numbers. Estimators (ObjectNode) need `trusted_types`.
_NODES: Mapping[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "DefaultDictNode": frozenset({"collections.defaultdict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "JsonNode": frozenset({"builtins.str"}),
    "TypeNode": _PLAIN | _NUMPY | {"collections.OrderedDict"},
    "NdArrayNode": _NUMPY | {"numpy.ndarray"},
    "DTypeNode": frozenset({"numpy.dtype"}),
}


def save_pipeline(pipeline: Pipeline, path: Path) -> None:
    import skops.io  # imports all of scikit-learn, which scoring does not need

    skops.io.dump(pipeline, path)


def load_pipeline(path: Path, candidate: Candidate, width: int, trees: Sequence[str] = ()) -> Pipeline:
    """Loads the fitted pipeline of a `candidate` with `width` features and columns of `trees`.

    Only classes of the candidate (`trusted_types`) are created. Trees and index arrays are checked, and a
    block of rows is predicted.
    """
    if not path.is_file():
        raise InputError(
            f"the model's file {path.name} is gone", location=path.parent, remedy="train it again"
        )
    expected = candidate.pipeline(seed=0)
    with damage_reported("the pipeline", path, _REMEDY):
        content = path.read_bytes()
        trusted = trusted_types(candidate, expected)
        refused = _check_archive(content, trusted)
        if refused:
            raise InputError(
                f"refers to types that are not trusted: {', '.join(refused)}", location=path, remedy=_REMEDY
            )
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            pipeline = build_object(archive, json.loads(archive.read(_SCHEMA)))
        actual = [(name, type(step)) for name, step in pipeline.steps] if type(pipeline) is Pipeline else []
        steps = [(name, type(step)) for name, step in expected.steps]
        if actual not in (steps, [step for step in steps if step[0] != "select"]):
            wanted = ", ".join(kind.__name__ for _, kind in steps)
            raise Damaged(f"it does not consist of {wanted}, as model.json says")
        check_estimators(pipeline)
        _check_prediction(pipeline, width, trees)
        return pipeline


def trusted_types(candidate: Candidate, unfitted: Pipeline) -> frozenset[str]:
    """Names of the classes allowed in a candidate's fitted pipeline, never of functions."""
    parts = {_name(type(part)) for part in estimators(unfitted)}
    named = parts | set(LEARNERS.get(candidate.learner).trusted_types)
    wrong = sorted(name for name in named - _NODES["TypeNode"] if not _is_estimator(name))
    if wrong:
        raise TypeError(f"not estimators in their own modules: {', '.join(wrong)}")
    return frozenset(named | {"numpy.dtype"})


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_estimator(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    named = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(named, type) or _name(named) != name:
        return False
    return name in _NO_ESTIMATORS or issubclass(named, BaseEstimator)


def _check_archive(content: bytes, trusted: frozenset[str]) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        sizes = {member.filename: member.file_size for member in members}
        packed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
        if packed or len(sizes) < len(members) or sum(sizes.values()) > len(content):
            raise Damaged("it is packed, and would be larger than it is")
        schema = json.loads(archive.read(_SCHEMA))
    protocol = schema.get("protocol")
    if protocol not in _PROTOCOLS:
        raise Damaged(f"protocol {protocol!r} of skops is not read here")
    nodes = list(_nodes(schema))
    _measure(schema, {})
    owners: dict[str, Any] = {}
    for node in nodes:
        file, number = node.get("file"), node["__id__"]
        if file is not None and (file not in sizes or owners.setdefault(file, number) != number):
            raise Damaged(f"the array {file!r} is not there, or belongs to several")
    for node in nodes:
        if node["__loader__"] == "ObjectNode" and _class_name(node) == _BOOSTER:
            check_trees(_text_of(node))
    return sorted({refused for node in nodes if (refused := _refused(node, trusted))})


def _nodes(state: Any) -> Iterator[dict[str, Any]]:
    waiting = [state]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(item.get("__loader__"), str):
                yield item
            elif "__loader__" in item or isinstance(item.get("__id__"), int):
                raise Damaged("it refers to parts of itself")
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _class_name(node: Mapping[str, Any]) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _refused(node: Mapping[str, Any], trusted: frozenset[str]) -> str:
    loader, name = node["__loader__"], _class_name(node)
    allowed = trusted if loader == "ObjectNode" else _NODES.get(loader)
    if allowed is None:
        return f"{name} ({loader})"
    return "" if name in allowed else name


def _measure(item: Any, measured: dict[int, int]) -> int:
    if isinstance(item, list):
        return sum(_measure(value, measured) for value in item)
    if not isinstance(item, dict):
        return 0
    size = 1 + sum(_measure(value, measured) for value in item.values())
    if "__loader__" in item and measured.setdefault(item["__id__"], size) != size:
        raise Damaged("it refers to parts of itself")
    return size


def _text_of(booster: Mapping[str, Any]) -> str:
    content = booster["content"]["content"]
    if "handle" not in content and content["_handle"]["__loader__"] == "JsonNode":
        text = json.loads(content["_handle"]["content"])
        if isinstance(text, str):
            return text
    raise Damaged("boosted trees without their text")


def _check_prediction(pipeline: Pipeline, width: int, trees: Sequence[str]) -> None:
    names = getattr(pipeline.steps[0][1], "feature_names_in_", None)
    if names is None or len(names) != width:
        raise Damaged(f"it does not take the {width} features of the model")
    row = pd.DataFrame(np.zeros((1, width)), columns=list(names), index=[0])
    for name in trees:
        row[name] = column(Trees.from_brackets(["(S (W w))"]))
    predicted = np.asarray(pipeline.predict(row))
    if predicted.shape != (1,) or predicted.dtype.kind != "f":
        raise Damaged(f"it predicts {predicted.dtype} {predicted.shape} for one row")
    if not np.isfinite(predicted).all():
        raise Damaged(f"it predicts {predicted[0]} for a row of zeros")
