"""Connections within limits, over uvicorn's HTTP/1.1 protocol, and the bodies that they receive."""

import asyncio
import resource
from asyncio import TimerHandle, Transport
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import h11
from h11._readers import ChunkedReader
from uvicorn.protocols.http.h11_impl import H11Protocol

from features.basics.errors import InputError
from qe.production.server.protocol import JSON, Limits, Refused, json_bytes

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

BACKLOG = 64  # connections that are accepted at once
_OTHER_FILES = 64  # descriptors of the process that are no connections
_PATIENCE = 2.0  # seconds in which the rest of a body that is not wanted may come
_FAREWELL = 2.0  # seconds to take a last answer
_CHUNK_LINE = 300  # bytes in which the size of a chunk must end
_CHUNK_DIGITS = 8  # hexadecimal, without leading zeros


@dataclass(eq=False)
class ConnectionLimiter:
    """What connections share; `waiting` are those without a request, the oldest first."""

    limits: Limits
    closed: Callable[[str], None]
    waiting: dict["Connection", None] = field(default_factory=dict)
    open: int = 0


class _StrictChunks(ChunkedReader):
    """Refuses chunks whose size line ends with a line feed alone, and sizes that no body can have."""

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
    def __init__(self, *arguments: Any, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _StrictConnection(h11.SERVER, self.conn._max_incomplete_event_size)
        self.limiter = limiter
        self._half_closed = False
        self._headers_due: TimerHandle | None = None
        self._taking_due: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limiter = self.limiter
        limiter.open += 1
        if len(self.connections) > limiter.limits.connections:
            longest = next(iter(limiter.waiting), None)
            if longest is None:
                self._give_up(503, "too many connections; try again", "full")
                return
            longest._give_up(503, "the connection gave way to another", "full")
        self.limiter.waiting[self] = None
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self.limiter.open -= 1
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
            self._end(self.limiter.limits.seconds)
        elif self._is_waiting():
            self.limiter.waiting[self] = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._end(self.limiter.limits.seconds)

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what is being made of the request cannot be sent any more
            self.cycle.message_event.set()
        self._refuse(400, msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking_due is None:
            self._taking_due = self.loop.call_later(self.limiter.limits.seconds, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking_due is not None:
            self._taking_due.cancel()
            self._taking_due = None

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_headers(self) -> None:
        seconds = self.limiter.limits.headers
        reason = f"the headers were not sent within {seconds} s"
        self._headers_due = self.loop.call_later(seconds, self._give_up, 408, reason, "headers")

    def _stop_waiting(self) -> None:
        self.limiter.waiting.pop(self, None)
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _give_up(self, status: int, message: str, reason: str) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.limiter.closed(reason)
            self._refuse(status, message)

    def _refuse(self, status: int, message: str) -> None:
        content = json_bytes({"error": message})
        headers = [
            (b"content-type", JSON.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=status, headers=headers)
        with suppress(h11.LocalProtocolError):
            for event in (response, h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._end(_FAREWELL)

    def _end(self, seconds: float) -> None:
        if self.transport.get_write_buffer_size():
            self.loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        if self in self.connections:
            self.limiter.closed("answer")
            self.transport.abort()


def check_descriptors(limits: Limits) -> None:
    """Raises the limit of open files if the connections need more; InputError if that is not allowed."""
    needed = limits.connections + 4 * BACKLOG + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise InputError(
            f"{limits.connections} connections need {needed} open files, but this process may have {hard}",
            remedy="lower --max-connections, or raise `ulimit -n`",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class ClientDisconnected(Exception):
    """The client has closed the connection, so that nobody reads an answer."""


@dataclass(eq=False)
class Body:
    receive: Receive
    declared: int | None
    complete: bool = False

    async def part(self) -> bytes:
        message = await self.receive()
        if message["type"] != "http.request":
            raise ClientDisconnected
        self.complete = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def discard(self) -> None:
        """Reads the rest for a while: a client that is still sending would not read why it was refused."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while not self.complete:
                    await self.part()


@dataclass(eq=False)
class BodyReader:
    """Reads the bodies of all requests; the oldest is given up if together they take too much memory."""

    limits: Limits
    buffered: int = 0
    _deadlines: dict[asyncio.Timeout, None] = field(default_factory=dict)  # the oldest first

    async def read(self, body: Body) -> bytes:
        """The whole body. Raises Refused (413, 408), or ClientDisconnected."""
        limit, parts, size = self.limits.bytes, [], 0
        if body.declared is not None and body.declared > limit:
            raise self._too_large()
        deadline = asyncio.timeout(self.limits.seconds)
        try:
            async with deadline:
                self._deadlines[deadline] = None
                while not body.complete:
                    parts.append(await body.part())
                    size += len(parts[-1])
                    self.buffered += len(parts[-1])
                    if size > limit:
                        raise self._too_large()
                    self._make_room()
        except TimeoutError:
            late = deadline in self._deadlines
            reason = f"was not sent within {self.limits.seconds} s" if late else "gave way to faster ones"
            raise Refused(408, f"the body {reason}") from None
        finally:
            self.buffered -= size
            self._deadlines.pop(deadline, None)
        return b"".join(parts)

    def _make_room(self) -> None:
        if self.buffered > self.limits.bodies:
            oldest = next((deadline for deadline in self._deadlines if not deadline.expired()), None)
            if oldest is not None:
                del self._deadlines[oldest]
                oldest.reschedule(asyncio.get_running_loop().time())

    def _too_large(self) -> Refused:
        return Refused(413, f"the body is larger than {self.limits.bytes:,} bytes")
