"""Requests that are not for this server, or that two servers would take for different ones."""

import socket
from collections.abc import Iterator

import pytest

from qe.production.server.app import App, Hosts
from qe.production.server.protocol import Limits
from tests.production.server.asgi import call, connect, listening, read_answer

OWN = [
    *("localhost", "LOCALHOST:5002", "localhost.:1", "127.0.0.1", "127.0.0.1:80", "127.1.2.3", "[::1]"),
    "[::1]:80",
]
OTHERS = [
    *(
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "10.0.0.1",
    ),
    *("0.0.0.0", "[::]", "::1", "[fe80::1]", "", "a b", "localhost:x", "xn--localhost-", "local\u017fhost"),
]


def status(app: App, host: str, path: str = "/health") -> int:
    return call(app, path, headers={"host": host})[0]


@pytest.mark.parametrize("host", OWN)
def test_loopbacks_names_are_answered(host: str) -> None:
    assert status(App(Limits()), host) == 200


@pytest.mark.parametrize("host", OTHERS)
def test_another_name_is_refused_at_every_address(host: str) -> None:
    app = App(Limits())
    for path in app.routes:
        code, body, headers = call(app, path, headers={"host": host}, method=app.routes[path])
        assert code == 421 and "--allowed-hosts" in body["error"] and headers["connection"] == "close"


def test_names_that_are_listed_and_the_address_listened_on() -> None:
    app = App(Limits(), hosts=Hosts.from_names(["qe.example.org", "[2001:db8::1]:80"], "192.0.2.7"))
    for host in ("QE.example.org:443", "[2001:db8::1]", "192.0.2.7:5002", "localhost"):
        assert status(app, host) == 200
    assert status(app, "other.example.org") == status(app, "192.0.2.8") == 421
    assert status(App(Limits(), hosts=Hosts.from_names([], "0.0.0.0")), "0.0.0.0") == 421
    assert status(App(Limits(), hosts=Hosts.from_names(["*"])), "evil.example") == 200


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(App(Limits())) as number:
        yield number


def all_of(client: socket.socket) -> bytes:
    answer = b""
    while part := client.recv(1 << 16):
        answer += part
    return answer


SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = b"POST /invocations HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
UNCLEAR = {
    "length and chunks": HEAD + b"Content-Length: 5\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunks and length": HEAD + CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "other case": HEAD + b"content-length: 5\r\ntransfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n",
    "of a GET": b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    + CHUNKED
    + b"\r\n0\r\n\r\n",
    "HTTP/1.0": b"POST /invocations HTTP/1.0\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunks that wait": HEAD + b"Content-Length: 5\r\n" + CHUNKED + b"\r\n",
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "another coding": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
    "two codings": HEAD + CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a blank before the colon": HEAD + b"Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "two hosts": HEAD + b"Host: evil.example\r\n\r\n",
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_request_that_may_be_two_is_refused_and_ends_the_connection(name: str, port: int) -> None:
    with connect(port) as client:
        client.sendall(UNCLEAR[name] + SMUGGLED)
        answers = all_of(client)
    assert answers.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")) and answers.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answers.lower()


@pytest.mark.slow
def test_one_that_is_clear_leaves_the_connection_open(port: int) -> None:
    with connect(port) as client:
        for body in (b"Content-Length: 2\r\n\r\n{}", CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n"):
            client.sendall(HEAD + body)
            assert read_answer(client)[0] == 503  # no model yet
