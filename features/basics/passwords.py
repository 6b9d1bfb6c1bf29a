"""Passwords in addresses: never shown, never written."""

import re

# A database's password may hold a slash, as SQLAlchemy reads addresses. Another one ends before a slash: a
# port with a path and an `@` behind it is no password.
_DATABASE = r"\b(?:postgresql|postgres|mysql|mariadb|mssql|oracle|redis)(?:\+\w+)?"
_USER = rf"({_DATABASE}://[^:/@\s]*):[^\s'\"]*@"
_ANY_USER = r"(://[^:/@\s]*):[^/\s'\"]*@"
_OPTION = r"([?&;]\w*(?:password|passwd|pwd|secret|token)=)[^&;\s'\"]*"


def without_passwords(text: str) -> str:
    """The text with `***` for passwords of the addresses in it.

    >>> without_passwords("postgresql://qe:secret@host/name?sslpassword=other")
    'postgresql://qe:***@host/name?sslpassword=***'
    >>> without_passwords("http://127.0.0.1:5000/models/qe@champion")
    'http://127.0.0.1:5000/models/qe@champion'
    """
    if "://" not in text:
        return text
    for pattern in (_USER, _ANY_USER):
        text = re.sub(pattern, r"\1:***@", text)
    return re.sub(_OPTION, r"\1***", text, flags=re.IGNORECASE)
