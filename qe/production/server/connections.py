"""Connections: how many, and how long one may say nothing; over uvicorn's HTTP/1.1 protocol.

uvicorn closes idle connections and bounds the size of headers. What it lacks is here: a time for headers, a
place for the next client where all are taken, an end to answers that nobody takes, and errors as JSON.
"""

import resource
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h11
from h11._readers import ChunkedReader
from uvicorn.protocols.http.h11_impl import H11Protocol

from features.basics.errors import InputError
from qe.production.server.answers import JSON, json_bytes
from qe.production.server.limits import Limits

BACKLOG = 64  # connections that are accepted at once
_ELSE = 64  # descriptors of the process that are no connections
_FAREWELL = 2.0  # seconds to take a last answer
_CHUNK_LINE = 300  # bytes in which the size of a chunk must end
_CHUNK_DIGITS = 8  # hexadecimal, without leading zeros


@dataclass(eq=False)
class Gate:
    """What connections share.

    closed   told why, whenever one is given up: headers (not sent), answer (not taken), full (no place)
    waiting  those without a request in hand, the longest first
    open     all
    """

    limits: Limits
    closed: Callable[[str], None]
    waiting: dict["Connection", None] = field(default_factory=dict)
    open: int = 0


class _StrictChunks(ChunkedReader):
    """Refuses chunks whose first line ends with a line feed alone, and sizes that no body can have."""

    def __call__(self, buf: Any) -> Any:
        if not self._reading_trailer and self._bytes_in_chunk == 0:
            start = len(self._bytes_to_discard)
            line, end, _ = bytes(buf._data[start : start + _CHUNK_LINE]).partition(b"\n")
            digits = line[: len(line) - len(line.lstrip(b"0123456789abcdefABCDEF"))].lstrip(b"0")
            if len(digits) > _CHUNK_DIGITS or (end and not line.endswith(b"\r")):
                raise h11.LocalProtocolError("malformed chunk")
        return super().__call__(buf)


class _StrictConnection(h11.Connection):
    def _get_io_object(self, *arguments: Any) -> Any:
        made = super()._get_io_object(*arguments)
        return _StrictChunks() if isinstance(made, ChunkedReader) else made


class Connection(H11Protocol):
    """One connection, within the limits."""

    def __init__(self, *arguments: Any, gate: Gate, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _StrictConnection(h11.SERVER, self.conn._max_incomplete_event_size)
        self.gate = gate
        self._half_closed = False
        self._headers_due: TimerHandle | None = None
        self._taking_due: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        gate = self.gate
        gate.open += 1
        if len(self.connections) > gate.limits.connections:
            longest = next(iter(gate.waiting), None)
            if longest is None:
                self._give_up(503, "too many connections; try again", "full")
                return
            longest._give_up(503, "the connection gave way to another", "full")
        self._await_request()
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gate.open -= 1
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        if self._is_waiting() and self._headers_due is None:
            self._expect_headers()
        super().data_received(data)
        if not self._is_waiting():
            self._stop_waiting()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keeps the connection for the answer if the client has sent its whole request."""
        if self._is_waiting() or self.cycle.more_body:
            return None
        self._half_closed = True
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._half_closed and self._is_waiting():
            self._unset_keepalive_if_required()
            self.transport.close()
        if self.transport.is_closing():
            self._end(self.gate.limits.seconds)
        elif self._is_waiting():
            self._await_request()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._end(self.gate.limits.seconds)

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what is being made of the request cannot be sent any more
            self.cycle.message_event.set()
        self._refuse(400, msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking_due is None:
            self._taking_due = self.loop.call_later(self.gate.limits.seconds, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking_due is not None:
            self._taking_due.cancel()
            self._taking_due = None

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        self.gate.waiting[self] = None

    def _expect_headers(self) -> None:
        seconds = self.gate.limits.headers
        reason = f"the headers were not sent within {seconds} s"
        self._headers_due = self.loop.call_later(seconds, self._give_up, 408, reason, "headers")

    def _stop_waiting(self) -> None:
        self.gate.waiting.pop(self, None)
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _give_up(self, status: int, message: str, reason: str) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.gate.closed(reason)
            self._refuse(status, message)

    def _refuse(self, status: int, message: str) -> None:
        content = json_bytes({"error": message})
        headers = [
            (b"content-type", JSON.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"connection", b"close"),
        ]
        try:
            for event in (
                h11.Response(status_code=status, headers=headers),
                h11.Data(data=content),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:
            pass
        self.transport.close()
        self._end(_FAREWELL)

    def _end(self, seconds: float) -> None:
        if self.transport.get_write_buffer_size():
            self.loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        if self in self.connections:
            self.gate.closed("answer")
            self.transport.abort()


def check_descriptors(limits: Limits) -> None:
    """Make sure that so many connections can be open.

    This process may ask for more descriptors.

    Raises InputError if it may not have them.
    """
    needed = limits.connections + 4 * BACKLOG + _ELSE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise InputError(
            f"{limits.connections} connections need {needed} open files, but this process may have {hard}",
            remedy="lower --max-connections, or raise `ulimit -n`",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
