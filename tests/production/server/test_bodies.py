"""Bodies: limits of size and time, alone and together; nothing is read for a client that has gone."""

import asyncio
from typing import Any

import pytest

from qe.production.server.connections import Body, BodyReader, ClientDisconnected
from qe.production.server.protocol import Limits, Refused

pytestmark = pytest.mark.slow

LIMITS = Limits(bytes=100, seconds=1, busy=2)  # 200 bytes of all bodies


def body(*parts: bytes | float, declared: int | None = None) -> Body:
    """A body of these parts; a number is a pause in seconds."""
    waiting = list(parts)

    async def receive() -> dict[str, Any]:
        while waiting and not isinstance(waiting[0], bytes):
            await asyncio.sleep(waiting.pop(0))  # type: ignore[arg-type]
        if not waiting:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    return Body(receive, declared)


def read(given: Body, bodies: BodyReader | None = None) -> bytes:
    return asyncio.run((bodies or BodyReader(LIMITS)).read(given))


def test_reading_stops_when_the_client_has_gone() -> None:
    asked = 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x", "more_body": True} if asked < 3 else {
            "type": "http.disconnect"}  # fmt: skip

    bodies = BodyReader(LIMITS)
    with pytest.raises(ClientDisconnected):
        read(Body(receive, None), bodies)
    assert asked == 3 and bodies.buffered == 0


def test_the_body_that_has_been_coming_longest_gives_way() -> None:
    async def together() -> list[Any]:
        bodies = BodyReader(LIMITS)
        slow = [body(b"x" * 90, 0.9, b"x") for _ in range(3)]
        reading = [asyncio.ensure_future(bodies.read(one)) for one in slow]
        await asyncio.sleep(0.1)
        quick = await bodies.read(body(b"quick", b""))
        return [quick, *await asyncio.gather(*reading, return_exceptions=True), bodies.buffered]

    quick, first, *rest, held = asyncio.run(together())
    assert quick == b"quick" and held == 0
    assert isinstance(first, Refused) and first.status == 408 and "gave way" in first.message
    assert rest == [b"x" * 91] * 2


def test_what_is_not_wanted_is_taken_for_a_while() -> None:
    short, long = body(b"a", 0.1, b"b"), body(b"a", 30.0, b"b")
    asyncio.run(short.discard())
    asyncio.run(long.discard())
    assert short.complete and not long.complete
