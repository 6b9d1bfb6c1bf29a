"""Requests to an application without a network, and a server on a port of its own."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qe.production.server.app import App
from qe.production.server.protocol import Limits
from qe.production.server.service import Service
from qe.production.serving import http_server
from tests.patience import PATIENCE

JSON = {"content-type": "application/json"}


def application(
    folder: Path, limits: Limits | None = None, level: float | None = None, triage: Path | None = None
) -> App:
    limits = limits or Limits()
    return App(limits, Service.load(folder, limits, level=level, triage=triage))


def call(
    app: App, path: str = "/invocations", content: Any = None, *, headers: dict[str, str] | None = None,
    method: str | None = None, chunks: list[bytes] | None = None, pause: float = 0.0, query: str = "",
) -> tuple[int, Any, dict[str, str]]:  # fmt: skip
    """One request: status, parsed body (text where it is no JSON), headers."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    if content is None:
        body = b""
    waiting = [body] if chunks is None else list(chunks)
    given = JSON | {"content-length": str(len(body))} if chunks is None else JSON
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not waiting:
            await asyncio.sleep(PATIENCE)  # the client waits for the answer
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    verb = method or ("GET" if content is None and chunks is None else "POST")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": verb, "path": path,
        "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
        "headers": [(k.encode(), v.encode()) for k, v in (given if headers is None else headers).items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    answer = b"".join(m.get("body", b"") for m in sent[1:])
    kept = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
    is_json = kept["content-type"] == "application/json"
    return sent[0]["status"], json.loads(answer) if is_json else answer.decode(), kept


@contextmanager
def listening(app: App, trusted_proxies: Sequence[str] = ()) -> Iterator[int]:
    """The port of a server that runs in a thread."""
    server = http_server(app, trusted_proxies)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield port
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the server does not end"


def connect(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    return client


def exchange(port: int, sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """One request over a connection of its own: status, headers, body."""
    with connect(port) as client:
        client.sendall(sent)
        return read_answer(client)


def read_answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The next answer of a connection: status, headers, body; status 0 where it is closed instead."""
    stream = client.makefile("rb")
    first = stream.readline()
    if not first:
        return 0, {}, b""
    headers = {}
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return int(first.split()[1]), headers, stream.read(int(headers["content-length"]))
