"""Passwords in addresses and connection strings: never shown, never written."""

import re
from typing import Final

# A password of a database may hold any character but a line end (SQLAlchemy reads up to the last `@`), so it
# ends at the last `@` before the next address. Any other password ends before a slash: a port with a path and
# an `@` behind it is no password.
_DATABASE: Final = r"\b(?:postgresql|postgres|mysql|mariadb|mssql|oracle|redis)(?:\+\w+)?"
_NO_ADDRESS: Final = r"(?:(?!://)[^\n])*"
_PORT: Final = r"\d+(?![^\s/?#'\",;:)\]])"
_SECRET: Final = r"\w*(?:password|passwd|pwd|secret|token)"
# libpq's form: the value in quotes, up to the next `name=`, or up to a blank.
_VALUE: Final = r"(?:'(?:[^'\\\n]|\\.)*'(?!\w)|[^\n=]*?(?=\s+\w+\s*=)|\S+?(?=['\",;:)\]]*(?:\s|$)))"
_FORMS: Final = (
    (re.compile(rf"({_DATABASE}://[^:/@\s]*):{_NO_ADDRESS}@"), r"\1:***@"),
    (re.compile(rf"(://[^:/@\s]*):(?!\s|{_PORT})(?:(?!://)[^/\n])*@"), r"\1:***@"),
    (re.compile(rf"([?&;]{_SECRET}=)[^&;\s]*?(?=['\",;:)\]]*(?:[&;\s]|$))", re.IGNORECASE), r"\1***"),
    (re.compile(rf"(\b\w*(?:password|passwd|pwd)\s*=\s*){_VALUE}", re.IGNORECASE | re.MULTILINE), r"\1***"),
)


def without_passwords(text: str) -> str:
    """The text with `***` for every password of an address (URL) or of libpq's `host=... password=...`."""
    for form, replacement in _FORMS:
        text = form.sub(replacement, text)
    return text
