"""Listening: a port is taken, or refused in one message, before anything is loaded."""

import socket

from features.basics.errors import InputError


def bound(host: str, port: int) -> socket.socket:
    """A socket that holds the port.

    A client that connects before it is served waits. Port 0 means any free port.

    Raises InputError if the port is taken, or the address is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"is no address to listen on ({reason})", location=host, remedy="such as 127.0.0.1"
        ) from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen there ({error.strerror})",
            location=f"{host}:{port}",
            remedy="choose another --port",
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """HOST:PORT, as it stands in a URL."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
