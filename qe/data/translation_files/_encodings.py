"""Bytes of an XML file as text, in any encoding of text that Python knows."""

import codecs
import re
from pathlib import Path

from features.basics.errors import InputError, quoted

# The byte order mark, or the first character without one (XML 1.0, appendix F); the longer ones first.
_STARTS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARED = re.compile(r"\ufeff?<\?xml\s[^>]*?\bencoding\s*=\s*([\"'])(.*?)\1")
# Codecs of text that are no encodings of a file: of host names, of escapes, and those that hide markup.
_NOT_OF_FILES = {
    "idna",
    "punycode",
    "utf-7",
    "unicode-escape",
    "raw-unicode-escape",
    "undefined",
    "charmap",
}
# What programs write under the name of the older standard.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "cp950",
}


def decoded(raw: bytes, path: Path) -> tuple[str, str]:
    """The text of an XML file with its byte order mark, and the codec that gives the same bytes.

    Raises InputError for an encoding that is not known or no encoding of text, for a declaration that the
    bytes contradict, and for bytes that the encoding does not have.
    """
    seen = next((codec for start, codec in _STARTS if raw.startswith(start)), None)
    name = _declared(raw[:1024].decode(seen or "latin-1", "ignore"))
    declared = _codec(name, path) if name else "utf-8"
    codec = seen or declared
    text, codec = _decode(raw, codec, name or codec, path)
    if name and (_family(declared) != _family(seen or declared) or _declared(text) != name):
        raise InputError(
            f"declares the encoding {quoted(name)}, but is written in another",
            location=f"{path}:1",
            remedy="let the XML declaration say what it is written in",
        )
    return text, codec


def _declared(text: str) -> str:
    found = _DECLARED.match(text)
    return found[2] if found else ""


def _family(codec: str) -> str:
    return re.sub("-(le|be|sig)$", "", codec)


def _codec(name: str, path: Path) -> str:
    try:
        known = codecs.lookup(name) if re.fullmatch("[A-Za-z][A-Za-z0-9._-]*", name) else None
    except LookupError:
        known = None
    if known is None:
        raise InputError(
            f"the encoding {quoted(name)} is not known", location=f"{path}:1", remedy="convert it to UTF-8"
        )
    if known.name in _NOT_OF_FILES or not known._is_text_encoding:
        raise InputError(
            f"{quoted(name)} is no encoding of a text file",
            location=f"{path}:1",
            remedy="convert it to UTF-8",
        )
    return "utf-8" if known.name == "utf-8-sig" else known.name


def _decode(raw: bytes, codec: str, name: str, path: Path) -> tuple[str, str]:
    try:
        return raw.decode(codec), codec
    except UnicodeError as error:
        if codec in _WIDER:
            return _decode(raw, _WIDER[codec], name, path)
        place = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise InputError(
            f"byte {place + 1:,} is not of the encoding {quoted(name)}",
            location=path,
            remedy="convert the file, for example with iconv -t UTF-8, and let its XML declaration say so",
        ) from None
