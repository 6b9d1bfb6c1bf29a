"""Fields of a message of protobuf, walked without reading what they hold."""

from collections.abc import Iterator
from typing import Final

from features.storage.damage import Damaged

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # kinds of fields
_FIXED: Final = {_EIGHT: 8, _FOUR: 4}


def fields(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and bytes of every field that holds bytes; numbers are passed over. Raises Damaged."""
    values_at = 0
    while values_at < len(content):
        tag, values_at = _varint(content, values_at)
        kind = tag & 7
        if kind == _VARINT:
            _, values_at = _varint(content, values_at)
        elif kind in _FIXED:
            values_at += _FIXED[kind]
        elif kind == _BYTES:
            size, values_at = _varint(content, values_at)
            yield tag >> 3, content[values_at : values_at + size]
            values_at += size
        else:
            raise Damaged("no model of ONNX")
    if values_at > len(content):
        raise Damaged("it ends too early")


def _varint(content: memoryview, values_at: int) -> tuple[int, int]:
    value = shift = 0
    while values_at < len(content) and shift < 64:
        byte = content[values_at]
        value, values_at, shift = value | (byte & 127) << shift, values_at + 1, shift + 7
        if byte < 128:
            return value, values_at
    raise Damaged("it ends too early")


def message(field: int, content: bytes) -> bytes:
    return _number(field << 3 | _BYTES) + _number(len(content)) + content


def _number(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _number(rest) if rest else bytes([low])
