"""Names that a server answers to.

A page from elsewhere, whose name is made to mean this machine, could read answers in a browser here otherwise
(DNS rebinding).
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from features.basics.errors import InputError, quoted
from qe.production.server.answers import Refused

ANY: Final = "*"


def proxies(names: Iterable[str]) -> list[str]:
    """Addresses and networks of proxies, or `*`. Raises InputError for anything else.

    >>> proxies(["10.0.0.1", "10.1.0.0/16"])
    ['10.0.0.1', '10.1.0.0/16']
    """
    for name in names:
        try:
            name == ANY or ipaddress.ip_network(name)
        except ValueError:
            raise InputError(
                f"{quoted(name)} is no address of a proxy", remedy="such as 10.0.0.1, or 10.0.0.0/8"
            ) from None
    return list(names)


_OWN: Final = frozenset({"localhost"})  # and addresses of loopback
# A host by RFC 3986: a name or an address, IPv6 in brackets, and a port.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d*)?", re.ASCII)
_CLOSE: Final = {"Connection": "close"}


@dataclass(frozen=True)
class Hosts:
    """`names` in lower case, without ports; loopback's are always among them."""

    names: frozenset[str] = _OWN

    @classmethod
    def from_names(cls, names: Iterable[str], listening: str = "") -> Self:
        """The names that are given, and the address that is listened on, unless that is every one.

        Raises InputError for what is no name.
        """
        for name in names:
            if name != ANY and not _name(name):
                raise InputError(
                    f"{quoted(name)} is no name of a host", remedy="such as qe.example.org, or *"
                )
        named = {name if name == ANY else _name(name) for name in names}
        return cls(_OWN | named | ({_name(listening)} if _is_single_address(listening) else frozenset()))

    def check(self, header: str | None) -> None:
        """Raises Refused (421) for another name in the header Host; browsers always send one."""
        if header is None or ANY in self.names:
            return
        name = _name(header)
        if name not in self.names and not _is_loopback(name):
            what = f"this server does not answer to the host {quoted(header)}"
            raise Refused(421, f"{what}; --allowed-hosts names those it does", _CLOSE)


LOOPBACK: Final = Hosts()


def _name(host: str) -> str:
    """A host without its port, in lower case; empty for what is none.

    >>> _name("LocalHost.:80"), _name("[::1]:80"), _name("a b")
    ('localhost', '[::1]', '')
    """
    found = _HOST.fullmatch(host.strip().lower())
    return found[1].removesuffix(".") if found else ""


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_single_address(listening: str) -> bool:
    try:
        return not ipaddress.ip_address(listening).is_unspecified
    except ValueError:
        return bool(_name(listening))
