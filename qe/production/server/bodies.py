"""Bodies read within limits of size and time, together and each.

Reading stops when the client has gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from qe.production.server.answers import Refused
from qe.production.server.limits import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

_PATIENCE = 2.0  # seconds in which the rest of a body that is not wanted may come


class ClientDisconnected(Exception):
    """The client has closed the connection: there is nobody to answer."""


@dataclass(eq=False)
class Body:
    """The body of a request, part by part."""

    receive: Receive
    declared: int | None
    complete: bool = False

    async def part(self) -> bytes:
        """The next part. Raises ClientDisconnected if there will be none."""
        message = await self.receive()
        if message["type"] != "http.request":
            raise ClientDisconnected
        self.complete = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def discard(self) -> None:
        """Read and drop the rest of a body for a while.

        Otherwise, a client that is still sending would not read why it was refused.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                while not self.complete:
                    await self.part()
        except TimeoutError:
            pass


@dataclass(eq=False)
class Bodies:
    """What is being received of all requests.

    Where it is too much for the memory that they may take together, the one that has been coming longest is
    given up: honest clients send in an instant.
    """

    limits: Limits
    buffered: int = 0
    _coming: dict[asyncio.Timeout, None] = field(default_factory=dict)  # the oldest first

    async def read(self, body: Body) -> bytes:
        """The whole body. Raises Refused (413, 408), or ClientDisconnected."""
        limit, parts, size = self.limits.bytes, [], 0
        if body.declared is not None and body.declared > limit:
            raise self._too_large()
        deadline = asyncio.timeout(self.limits.seconds)
        try:
            async with deadline:
                self._coming[deadline] = None
                while not body.complete:
                    parts.append(await body.part())
                    size += len(parts[-1])
                    self.buffered += len(parts[-1])
                    if size > limit:
                        raise self._too_large()
                    self._make_room()
        except TimeoutError:
            late = deadline in self._coming
            reason = f"was not sent within {self.limits.seconds} s" if late else "gave way to faster ones"
            raise Refused(408, f"the body {reason}") from None
        finally:
            self.buffered -= size
            self._coming.pop(deadline, None)
        return b"".join(parts)

    def _make_room(self) -> None:
        if self.buffered > self.limits.bodies:
            oldest = next((deadline for deadline in self._coming if not deadline.expired()), None)
            if oldest is not None:
                del self._coming[oldest]
                oldest.reschedule(asyncio.get_running_loop().time())

    def _too_large(self) -> Refused:
        return Refused(413, f"the body is larger than {self.limits.bytes:,} bytes")
