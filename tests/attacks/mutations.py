"""Mutations of stored files: what damage or malice may make of arrays, JSON, text and archives."""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INTEGERS = [-(2**31), -2, -1, 0, 1, 2, 127, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1]
_NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 1e300, -1e300, 5e-324, 2.0]
_VALUES = [
    None, True, -1, 0, 1, 2**31, 10**18, 1e308, float("nan"), "", "x", "../..", "\x00", [], {}, [[]],
    {"a": {}},
]  # fmt: skip
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_TEXTS = frozenset({".txt", ".tsv", ".csv", ".jsonl", ".conllu", ".mrg", ".arpa", ".lex", ".graph"})
# Words that readers of texts stumble over: numbers beyond every type, separators, brackets, what is not seen.
_WORDS = [
    "-1", "0", "1", "2", "5", "100", "2147483647", "-2147483648", "99999999999999999999", "9" * 5000,
    "1e400", "nan", "inf", "", "x", "\t", " ", "|||", "(", ")", "((((", '"', ",", "-", "\\", "\x00",
    "\u2028", "\r", "1_0", "²", "٣",
]  # fmt: skip
_OFTEN = frozenset({"schema.json", "xl/workbook.xml", "xl/worksheets/sheet1.xml"})  # members of archives
_DEEP = 100_000  # brackets, of which every recursive reader dies


def mutated(name: str, content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Other content for a file of that name, and what was done."""
    suffix = Path(name).suffix
    kind = _KINDS.get(suffix, text if suffix in _TEXTS else raw)
    if rng.random() < 0.15:
        kind = raw
    try:
        return kind(content, rng)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError, OverflowError, TypeError, RecursionError):
        return raw(content, rng)  # not of its kind any more


def raw(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Bits, bytes and ends."""
    how = rng.choice(["bit", "byte", "cut", "grown", "repeated", "empty"])
    if not content or how == "empty":
        return b"", "empty"
    if how == "cut":
        end = rng.randrange(len(content))
        return content[:end], f"cut at {end}"
    if how == "grown":
        return content + rng.randbytes(rng.choice([1, 8, 100])), "grown"
    at = rng.randrange(len(content))
    if how == "repeated":
        return content[:at] + content[at // 2 :], f"repeated from {at // 2}"
    changed = bytearray(content)
    changed[at] = changed[at] ^ (1 << rng.randrange(8)) if how == "bit" else rng.randrange(256)
    return bytes(changed), f"{how} {at}"


def array(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Values, shapes and types of an array."""
    values = np.load(io.BytesIO(content), allow_pickle=False)
    how = rng.choice(["values", "values", "values", "all", "shape", "type", "order", "header"])
    if how == "header":
        end = content.index(b"\n")
        head, done = raw(content[8:end], rng)
        return content[:8] + head + content[end:], f"header, {done}"
    return saved(_changed(np.array(values), how, rng)), f"array, {how}"


def _changed(values: NDArray[Any], how: str, rng: random.Random) -> NDArray[Any]:
    if how == "type":
        types = ["i4", "i8", "f4", "f8", "u1", "u8", "c16", ">i4", ">f4", "?", "S4", "f2"]
        return values.astype(rng.choice(types))
    if how == "shape":
        twice = np.concatenate([values, values])
        shapes = [values[:-1], values[:0], twice, values[None], values.reshape(-1, 1)]
        return shapes[rng.randrange(len(shapes))]
    flat = values.ravel()
    if how == "order":
        np.random.default_rng(rng.randrange(2**32)).shuffle(flat)
    elif how == "all":
        flat[:] = _value(values, rng)
    else:
        for _ in range(rng.choice([1, 1, 2, 10])):
            flat[rng.choice([0, -1, rng.randrange(len(flat))])] = _value(values, rng)
    return flat.reshape(values.shape)


def _value(values: NDArray[Any], rng: random.Random) -> Any:
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        near = [values.size, values.size - 1, int(values.max(initial=0)) + 1, int(values.max(initial=0))]
        return min(max(rng.choice([*_INTEGERS, *near]), limits.min), limits.max)
    return rng.choice(_NUMBERS)


def saved(values: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


def json_file(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A value, or a key, anywhere."""
    root = json.loads(content)
    done = _changed_json(root, rng)
    written = json.dumps(root)
    if rng.random() < 0.05:  # what json.dumps would not write
        value = rng.choice(["[" * _DEEP, "9" * 5000, '"\\ud800"', "-Infinity", "1e999"])
        place = rng.choice([m.start() for m in re.finditer(r"(?<=: )", written)] or [0])
        return (
            written[:place] + value + re.sub(r'^("[^"]*"|[^,}\]]*)', "", written[place:])
        ).encode(), f"{value[:9]} at {place}"
    return written.encode(), done


def _changed_json(root: Any, rng: random.Random) -> str:
    here, way = root, ""
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = rng.choice(keys)
        way += f"/{key}"
        inner = here[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
            here = inner
            continue
        how = rng.choice(["value", "value", "value", "gone", "renamed"])
        if how == "gone":
            del here[key]
        elif how == "renamed" and isinstance(here, dict):
            here[rng.choice(["x", "", "__class__", *map(str, keys)])] = here.pop(key)
        elif isinstance(inner, str) and rng.random() < 0.7:
            here[key] = _changed_text(inner, rng)
        else:
            here[key] = rng.choice(_VALUES)
        return f"{how} at {way}"


def text(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Lines and numbers of a text."""
    how = rng.choice(["number"] * 4 + ["cell", "line gone", "line twice", "lines", "no text", "deep"])
    lines = content.decode("utf-8").split("\n")
    at = rng.randrange(len(lines))
    if how == "no text":
        return content + b"\xff\xfe\n", how
    if how == "line gone":
        del lines[at]
    elif how == "cell":
        lines[at] = _other_cells(lines[at], rng)
    elif how == "deep":
        lines[at] += rng.choice("[({") * _DEEP
    elif how == "line twice":
        lines.insert(at, lines[at])
    elif how == "lines":
        del lines[at : at + rng.choice([2, 10, 1000])]
    else:
        lines[at] = _changed_text(lines[at], rng)
    return "\n".join(lines).encode(), f"{how}, line {at}"


def _other_cells(line: str, rng: random.Random) -> str:
    """A cell is gone, there twice, or another, where cells end as they most often do."""
    separator = max("\t, |", key=line.count)
    cells = line.split(separator)
    at = rng.randrange(len(cells))
    cells[at : at + 1] = rng.choice([[], cells[at : at + 1] * 2, [rng.choice(_WORDS)], cells[at:][::-1]])
    return separator.join(cells)


def _changed_text(value: str, rng: random.Random) -> str:
    """Another number in a text, if it has any; else other letters."""
    numbers = list(_NUMBER.finditer(value))
    if not numbers:
        return rng.choice(["", "x", value[::-1], value + value, "-1", "a b"])
    number = rng.choice(numbers)
    return value[: number.start()] + rng.choice(_WORDS) + value[number.end() :]


def archive(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A member of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as given:
        members = {name: given.read(name) for name in given.namelist()}
    name = rng.choice([*members, *(name for name in members if name in _OFTEN for _ in range(3))])
    members[name], done = mutated(name, members[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for member, value in members.items():
            made.writestr(member, value)
    return stream.getvalue(), f"{name}: {done}"


_TAG = re.compile(r"<(/?)([\w:-]+)([^<>]*?)(/?)>")
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
_PROLOG = '<!DOCTYPE x [<!ENTITY a "yyyy"><!ENTITY b "&a;&a;">]>'


def xml(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Tags, attributes and texts between them, and the encoding."""
    how = rng.choice(["attribute", "attribute", "tag gone", "tag twice", "moved", "renamed", "text", "text",
                      "deep", "entity", "encoding"])  # fmt: skip
    whole = content.decode("utf-8")
    tags = list(_TAG.finditer(whole))
    tag = rng.choice(tags)
    before, here, after = whole[: tag.start()], tag[0], whole[tag.end() :]
    if how == "attribute":
        attributes = [m for each in tags for m in _ATTRIBUTE.finditer(whole, each.start(), each.end())]
        at = rng.choice(attributes)
        value = rng.choice([*_WORDS, *(m[2] for m in attributes), "A1:XFD1048576", "&amp;"])
        whole = whole[: at.start(2)] + value + whole[at.end(2) :]
    elif how == "tag gone":
        whole = before + after
    elif how == "tag twice":
        whole = before + here * rng.choice([2, 2, 3000]) + after
    elif how == "moved":
        other = rng.choice(tags).start()
        whole = before + after
        whole = whole[:other] + here + whole[other:]
    elif how == "renamed":
        name = rng.choice([each[2] for each in tags])
        whole = before + f"<{tag[1]}{name}{tag[3]}{tag[4]}>" + after
    elif how == "text":
        whole = before + here + rng.choice([*_WORDS, "]]>", "<!-- -->", "<![CDATA[<]]>", "&#0;"]) + after
    elif how == "deep":
        whole = before + f"<{tag[2]}>" * 1000 + f"</{tag[2]}>" * rng.choice([0, 1000]) + after
    elif how == "entity":
        first = whole.index("<", 1 if whole.startswith("<?") else 0)
        whole = whole[:first] + _PROLOG + before[first:] + here + "&b;" + after
    else:
        encoding = rng.choice(["utf-16", "utf-16-le", "utf-8-sig", "utf-32", "ascii"])
        return whole.encode(encoding, "replace"), how
    return whole.encode("utf-8", "surrogatepass"), how


_KINDS: dict[str, Callable[[bytes, random.Random], tuple[bytes, str]]] = {
    ".npy": array,
    ".json": json_file,
    ".skops": archive,
    ".xlsx": archive,
    **dict.fromkeys((".xml", ".rels", ".xlf", ".tmx"), xml),
}
