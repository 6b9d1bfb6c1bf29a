"""Checks LightGBM's text of boosted trees first, because LightGBM follows any number."""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from features.storage.damage import Damaged, within

_WHOLE = re.compile(rb"(?: *-?[0-9]{1,18}(?= |$))* *")
_NUMBERS = re.compile(rb"(?: *[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf|nan)(?= |$))* *")
_MAX_DEPTH = 4096  # splits above a leaf: LightGBM explains predictions by recursion
_CATEGORICAL = 1  # bit of a decision type


def check_trees(text: str) -> None:
    """Raises Damaged if LightGBM would read outside of the text, an array, or a feature row."""
    content = text.encode("utf-8", "surrogatepass")
    start = content.find(b"\nTree=") + 1
    head = _keys(content[:start] if start else content)
    for key in (b"num_class", b"num_tree_per_iteration"):
        if head.get(key) != b"1":
            raise Damaged(f"expected boosted trees with {key.decode()}=1")
    width = int(_integers(head, b"max_feature_idx", 1)[0]) + 1
    sizes = _integers(head, b"tree_sizes", None)
    if width < 1 or (sizes < 0).any() or bool(start) != bool(len(sizes)):
        raise Damaged("the trees' sizes, or the number of features, cannot be")
    for i, size in enumerate(sizes.tolist()):
        tree, first = content[start : start + size], b"Tree=%d\n" % i
        if len(tree) != size or not tree.startswith(first) or tree.count(b"Tree=") != 1:
            raise Damaged(f"tree {i} is not where the sizes say")
        _check_tree(i, _keys(tree[len(first) :]), width)
        start += size
    if len(sizes) and not content[start:].startswith(b"end of trees"):
        raise Damaged("the trees do not end where the sizes say")


def _check_tree(number: int, keys: Mapping[bytes, bytes], width: int) -> None:
    leaves = int(_integers(keys, b"num_leaves", 1)[0])
    if leaves < 1 or keys.get(b"num_cat") != b"0":
        raise Damaged(f"tree {number} has no leaf, or splits by category")
    _check_numbers(keys, b"leaf_value", leaves)
    _check_numbers(keys, b"shrinkage", 1)
    if leaves > 1:
        _check_numbers(keys, b"threshold", leaves - 1)
        within(f"split_feature of tree {number}", _integers(keys, b"split_feature", leaves - 1), 0, width)
        kinds = _integers(keys, b"decision_type", leaves - 1)
        within(f"decision_type of tree {number}", kinds, 0, 16)
        if (kinds & _CATEGORICAL).any():
            raise Damaged(f"tree {number} splits by category")
        left_child, right_child = (
            _integers(keys, side, leaves - 1) for side in (b"left_child", b"right_child")
        )
        _check_children(number, left_child, right_child)
        for name in (b"leaf_weight", b"leaf_count"):
            _check_numbers(keys, name, leaves)
        for name in (b"split_gain", b"internal_value", b"internal_weight", b"internal_count"):
            _check_numbers(keys, name, leaves - 1)
    if keys.get(b"is_linear", b"0") != b"0":
        _check_numbers(keys, b"leaf_const", leaves)
        sizes = _integers(keys, b"num_features", leaves)
        within(f"num_features of tree {number}", sizes, 0, width + 1)
        leaf_features = _integers(keys, b"leaf_features", int(sizes.sum()))
        within(f"leaf_features of tree {number}", leaf_features, 0, width)
        _check_numbers(keys, b"leaf_coeff", int(sizes.sum()))


def _check_children(number: int, left_child: NDArray[np.int64], right_child: NDArray[np.int64]) -> None:
    n = len(left_child)
    children = np.stack([left_child, right_child], axis=1)
    expected = np.concatenate([np.arange(-n - 1, 0), np.arange(1, n)])
    if not np.array_equal(np.sort(children.ravel()), expected):
        raise Damaged(f"tree {number} is no tree")
    inner = children > 0
    if (children[inner] <= np.nonzero(inner)[0]).any():
        raise Damaged(f"tree {number} is no tree")
    if n <= _MAX_DEPTH:  # not even a chain of its nodes is deeper
        return
    level, depth = np.zeros(1, np.int64), 0
    while len(level) and depth <= _MAX_DEPTH:
        below = children[level].ravel()
        level, depth = below[below > 0], depth + 1
    if len(level):
        raise Damaged(f"tree {number} is deeper than {_MAX_DEPTH} splits")


def _keys(part: bytes) -> dict[bytes, bytes]:
    keys: dict[bytes, bytes] = {}
    for line in part.split(b"\n"):
        key, equals, value = line.partition(b"=")
        if key in keys:
            raise Damaged(f"{key[:40].decode('utf-8', 'replace')!r} stands twice among the trees")
        if equals:
            keys[key] = value
    return keys


def _integers(keys: Mapping[bytes, bytes], name: bytes, size: int | None) -> NDArray[np.int64]:
    return np.array(_value(keys, name, size, _WHOLE).split(), np.int64)


def _check_numbers(keys: Mapping[bytes, bytes], name: bytes, size: int) -> None:
    _value(keys, name, size, _NUMBERS)


def _value(keys: Mapping[bytes, bytes], name: bytes, size: int | None, pattern: re.Pattern[bytes]) -> bytes:
    if name not in keys:
        raise Damaged(f"the trees lack '{name.decode()}'")
    value = keys[name]
    if not pattern.fullmatch(value) or (size is not None and len(value.split()) != size):
        raise Damaged(f"'{name.decode()}' of the trees must be {'some' if size is None else size} numbers")
    return value
