"""What files and settings are refused for, a row each: the place with words of the rule, and the call."""

import gzip
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from features.basics.errors import InputError
from features.storage.files import MAX_LINE, read_lines, sha256
from features.storage.strict_yaml import MAX_BYTES, parse, read_mapping
from tests.factories import Monkeypatch

PACKED = gzip.compress("".join(f"line {i} of a text\n" for i in range(2000)).encode(), mtime=0)
NO_END = b"short\n" + b"x" * (MAX_LINE + 1)


def lines(content: bytes = b"", name: str = "text") -> None:
    if content:
        Path(name).write_bytes(content)
    list(read_lines(Path(name)))


def flipped(byte: int, bits: int) -> bytes:
    """The packed file with some bits of a byte the other way round."""
    content = bytearray(PACKED)
    content[byte] ^= bits
    return bytes(content)


def mapping(content: bytes) -> None:
    Path("a.yaml").write_bytes(content)
    read_mapping(Path("a.yaml"), "feature list")


REFUSED = [
    (r"^text\.gz:\d+: damaged gzip", partial(lines, PACKED[: len(PACKED) // 2], "text.gz")),
    (r"^text\.gz:\d+: damaged gzip", partial(lines, flipped(10, 0x06), "text.gz")),  # type of a block
    (r"^text\.gz:\d+: damaged gzip", partial(lines, flipped(-8, 0xFF), "text.gz")),  # checksum
    ("^text: no such file; check the path", lines),
    ("^/dev/null/x: no such file", partial(lines, name="/dev/null/x")),
    ("^/dev: is a directory", partial(lines, name="/dev")),
    ("^text:2: .*longer than 16 MiB", partial(lines, NO_END)),
    ("^text:2: .*longer than 16 MiB", partial(lines, gzip.compress(NO_END))),
    ("^/dev/zero:1: .*longer than 16 MiB", partial(lines, name="/dev/zero")),
    ("^/dev/zero: is a device", partial(sha256, Path("/dev/zero"))),
    ("^text: has no line feed", partial(lines, b"a\rb\rc\r")),
    ("^text: has no line feed", partial(lines, b"\xef\xbb\xbfa\rb")),
    (r"^a\.yaml: no such feature list", partial(read_mapping, Path("a.yaml"), "feature list")),
    (r"^\.: cannot be read", partial(read_mapping, Path(), "feature list")),
    (r"^a\.yaml: .*no UTF-8 at byte 3", partial(mapping, b"a: \xff")),
    (r"^a\.yaml: .*must be a mapping", partial(mapping, b"[1]")),
    *((rf"^x\.yaml{place}", partial(parse, text, "x.yaml")) for text, place in (
        ("a: &a [*a]", ".*recursive node"),
        ("[" * 5000, ".*too many values inside each other"),
        ("a: '" + "x" * MAX_BYTES + "'", f".*more than {MAX_BYTES:,} bytes"),
        ("a: !!int abc", ": not valid YAML: a value is not of its tag"),
        ("a: !!python/object/apply:os.system [true]", ".*could not determine a constructor"),
        ('a: "\\ud800"', ".*half of a surrogate pair"),
        ('a: "\\0"', ".*NUL"),
        ("? [1]\n: 2", ".*found unhashable key"),
        ("a: 1\nb: 2\na: 3", ":3: .*the key 'a' occurs twice"),
        ("a: 1\n---\nb: 2", ".*but found another document"),
        ("a: [", ":1: .*expected the node content"),
        ("{<<: 3}", ".*list of mappings for merging"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused_in_one_line(location: str, call: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=location) as refused:
        call()
    assert "\n" not in str(refused.value)
