"""Builds objects from skops node trees, without skops' import of all scikit-learn (slow start-up)."""

import importlib
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

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
            self._made[number] = _KINDS[node["__loader__"]](self, node)
        return self._made[number]

    def dictionary(self, node: Node) -> Any:
        content, key_types = node["content"], self.make(node["key_types"])
        items = zip(key_types, content.items(), strict=True)
        return _class_of(node)((kind(key), self.make(value)) for kind, (key, value) in items)

    def default_dictionary(self, node: Node) -> Any:
        content = node["content"]
        return defaultdict(self.make(content["default_factory"]), self.make(content["main"]))

    def sequence(self, node: Node) -> Any:
        return _class_of(node)([self.make(item) for item in node["content"]])

    def plain(self, node: Node) -> Any:
        return json.loads(node["content"])

    def type_itself(self, node: Node) -> Any:
        return _class_of(node)

    def array(self, node: Node) -> Any:
        if node["type"] == "json":
            return self._of_objects(node)
        content = np.load(io.BytesIO(self.archive.read(node["file"])), allow_pickle=False)
        return content if _class_of(node) is np.ndarray else _class_of(node)(content)

    def _of_objects(self, node: Node) -> Any:
        items, shape = [self.make(item) for item in node["content"]], self.make(node["shape"])
        if len(shape) > 1:
            return np.array(items, dtype=object)
        row = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # one by one, because numpy would turn lists into axes
            row[place] = item
        return row

    def array_type(self, node: Node) -> Any:
        return self.make(node["content"]).dtype

    def estimator(self, node: Node) -> Any:
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


_KINDS: Mapping[str, Callable[[_Maker, Node], Any]] = {
    "DictNode": _Maker.dictionary,
    "DefaultDictNode": _Maker.default_dictionary,
    "ListNode": _Maker.sequence,
    "TupleNode": _Maker.sequence,
    "SetNode": _Maker.sequence,
    "JsonNode": _Maker.plain,
    "TypeNode": _Maker.type_itself,
    "NdArrayNode": _Maker.array,
    "DTypeNode": _Maker.array_type,
    "ObjectNode": _Maker.estimator,
}
