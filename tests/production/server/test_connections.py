"""Connections: those that say nothing, too little or nonsense end; others find a place meanwhile."""

import json
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qe.production.server.app import App
from qe.production.server.connections import check_descriptors
from qe.production.server.protocol import Limits
from tests.factories import refuses
from tests.patience import PATIENCE
from tests.production.server.asgi import application, connect, exchange, listening, read_answer

pytestmark = pytest.mark.slow

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMITS = Limits(connections=6, headers=1, idle=1, seconds=1)
PATIENT = Limits(connections=6, headers=3600, idle=3600, seconds=3600)
SOON = 45  # seconds: more than a busy machine needs, and fewer than without LIMITS


def app(limits: Limits = LIMITS) -> App:
    return App(limits)  # no model: it answers /health


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(app()) as number:
        yield number


@pytest.fixture
def loaded(demo_model: Path) -> Iterator[int]:
    """The port of a server with a model that gives clients all time."""
    with listening(application(demo_model, PATIENT)) as number:
        yield number


@pytest.fixture
def patient() -> Iterator[tuple[App, int]]:
    """An application that gives clients all time, and its port."""
    served = app(PATIENT)
    with listening(served) as number:
        yield served, number


def closed(client: socket.socket, seconds: float) -> float:
    """How many seconds it takes until the server closes a connection that says nothing."""
    client.settimeout(seconds)
    begun = time.monotonic()
    while client.recv(1 << 16):
        pass
    return time.monotonic() - begun


def test_a_connection_that_says_nothing_is_closed(port: int) -> None:
    with connect(port) as client:
        assert 0.5 < closed(client, SOON) < SOON


def test_slow_headers_are_given_up_however_steadily_they_come(port: int) -> None:
    with connect(port) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: y")
        begun = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - begun < SOON:
                client.sendall(b"y")
                time.sleep(0.2)
        assert time.monotonic() - begun < SOON


def test_slow_headers_are_told_so(port: int) -> None:
    with connect(port) as client:
        client.sendall(b"GET /health HTT")
        status, headers, body = read_answer(client)
        assert status == 408 and headers["content-type"] == "application/json"
        assert json.loads(body) == {"error": "the headers were not sent within 1 s"}
        assert client.recv(1) == b""


def test_headers_of_a_second_request_have_a_time_too() -> None:
    with listening(app(Limits(headers=1, idle=3600))) as port, connect(port) as client:
        client.sendall(HEALTH)
        assert read_answer(client)[0] == 200
        client.sendall(b"GET /health HTT")
        assert read_answer(client)[0] == 408


def test_an_idle_connection_is_closed_after_its_answer(port: int) -> None:
    with connect(port) as client:
        client.sendall(HEALTH)
        assert read_answer(client)[0] == 200
        assert 0.5 < closed(client, SOON) < SOON


def test_a_body_that_nobody_wants_is_not_waited_for_long(port: int) -> None:
    head = b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with connect(port) as client:
        client.sendall(head + b"{")
        status, headers, body = read_answer(client)
        assert status == 405 and headers["connection"] == "close" and "error" in json.loads(body)
        assert client.recv(1) == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_one_json_object(port: int, sent: bytes) -> None:
    status, headers, body = exchange(port, sent)
    assert status in (400, 404) and headers["content-type"] == "application/json"
    assert json.loads(body)["error"]
    assert exchange(port, HEALTH)[0] == 200


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c"])
def test_an_upgrade_is_an_ordinary_request(port: int, upgrade: bytes) -> None:
    sent = (
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + upgrade + b"\r\n\r\n"
    )
    assert exchange(port, sent)[0] == 200
    assert exchange(port, b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 404


def test_one_connection_more_takes_the_place_of_the_one_that_has_waited_longest(
    patient: tuple[App, int],
) -> None:
    served, port = patient
    clients = [connect(port) for _ in range(PATIENT.connections)]
    try:
        wait_for(lambda: value(served, "qe_connections_waiting") == PATIENT.connections)
        assert exchange(port, HEALTH)[0] == 200
        status, _, body = read_answer(clients[0])
        assert status == 503 and json.loads(body) == {"error": "the connection gave way to another"}
        clients[1].sendall(HEALTH)
        assert read_answer(clients[1])[0] == 200
    finally:
        for client in clients:
            client.close()


def test_where_all_are_at_work_one_more_is_sent_away(patient: tuple[App, int]) -> None:
    served, port = patient
    body = b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    clients = [connect(port) for _ in range(PATIENT.connections)]
    try:
        for client in clients:
            client.sendall(body)
        wait_for(lambda: value(served, "qe_connections") == PATIENT.connections)
        wait_for(lambda: value(served, "qe_connections_waiting") == 0)
        status, _, answer = exchange(port, HEALTH)
        assert status == 503 and json.loads(answer) == {"error": "too many connections; try again"}
        clients[0].sendall(b"x" * 9)
        assert read_answer(clients[0])[0] == 405
    finally:
        for client in clients:
            client.close()
    wait_for(lambda: value(served, "qe_connections") == 0)
    assert exchange(port, HEALTH)[0] == 200


@pytest.mark.slow
def test_an_answer_that_nobody_takes_is_given_up() -> None:
    served = app(Limits(seconds=1, idle=1))
    with listening(served) as port, connect(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(0.5)
        asked = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises(OSError):
            for _ in range(100_000):
                client.sendall(asked * 100)
        wait_for(lambda: value(served, "qe_connections_closed_total", why="answer") == 1)
        wait_for(lambda: value(served, "qe_connections") == 0)


def wait_for(condition: Any, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.05)


def value(served: App, name: str, **labels: str) -> float | None:
    return served.metrics.registry.get_sample_value(name, labels)


def test_descriptors_do_not_run_out_and_the_log_stays_short(caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(connections=20, headers=1, idle=1, seconds=1)
    served = app(limits)
    most, answered = 0, []
    with listening(served) as port, caplog.at_level(logging.WARNING):
        clients: list[socket.socket] = []
        stop = threading.Event()

        def honest() -> None:
            while not stop.is_set():
                answered.append(exchange(port, HEALTH)[0])
                time.sleep(0.02)

        thread = threading.Thread(target=honest)
        thread.start()
        for _ in range(400):
            clients.append(connect(port))
            most = max(most, int(value(served, "qe_connections") or 0))
        stop.set()
        thread.join(PATIENCE)
        for client in clients:
            client.close()
        wait_for(lambda: value(served, "qe_connections") == 0)
    assert most <= limits.connections + 64
    # An honest client that connects, and is slow to ask, may lose its place to the flood.
    assert set(answered) <= {0, 200, 503} and answered.count(200) > len(answered) / 2
    assert not [record for record in caplog.records if "out of system resource" in record.getMessage()]


def test_more_connections_than_descriptors_are_refused_at_the_start() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this process may have any number of descriptors")
    refuses(r"need \d+ open files", check_descriptors, Limits(connections=hard))
    check_descriptors(Limits())


POST = b"POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"10000000000000000\r\n{}",
        CHUNKED + b"f" * 400,
        CHUNKED + b"fffffffff",
        CHUNKED + b"2\n{}\n0\n\n",
        CHUNKED + b"2\r\n{}\r\n0\n\n",
        CHUNKED + b"2\r\n{}\n0\r\n\r\n",
        CHUNKED + b"2;x=y\n{}\r\n0\r\n\r\n",
        CHUNKED + b"x\r\n",
        b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/0.9\r\nHost: localhost\r\n\r\n",
        POST.replace(b"1.1", b"9.9") + b"Content-Length: 9\r\n\r\n",
    ],
)
def test_a_malformed_request_is_refused_at_once(sent: bytes, loaded: int) -> None:
    start = time.monotonic()
    assert exchange(loaded, sent)[0] == 400
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n"])
@pytest.mark.parametrize("size", [b"2", b"0002", b"2;x=y"])
def test_a_well_formed_chunk_is_read(size: bytes, end: bytes, loaded: int) -> None:
    status, _, content = exchange(loaded, CHUNKED + size + b"\r\n{}\r\n" + end)
    assert status == 400 and b"the JSON object must have one of" in content


@pytest.mark.parametrize("requests", [1, 3])
def test_a_client_that_closes_its_sending_half_gets_its_answers(requests: int, loaded: int) -> None:
    with connect(loaded) as client:
        client.sendall(requests * HEALTH + POST + b"Content-Length: 2\r\n\r\n{}")
        client.shutdown(socket.SHUT_WR)
        content = b""
        while part := client.recv(1 << 16):
            content += part
    assert content.count(b"HTTP/1.1 200 ") == requests and b"the JSON object must have" in content


def test_a_client_that_closes_within_its_request_has_left(loaded: int) -> None:
    with connect(loaded) as client:
        client.sendall(POST + b"Content-Length: 9\r\n\r\n{")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1 << 16) == b""


@pytest.mark.parametrize(
    ("trusted", "logged"), [((), "127.0.0.1"), (("10.0.0.0/8",), "127.0.0.1"), (("127.0.0.1",), "1.2.3.4")]
)
def test_only_trusted_proxies_name_the_client(
    trusted: tuple[str, ...], logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), listening(app(), trusted) as port:
        exchange(port, HEALTH.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"))
    (line,) = [record.getMessage() for record in caplog.records if "/health" in record.getMessage()]
    assert f" {logged} GET " in line


def test_request_lines_are_cut_and_escaped_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), listening(app()) as port:
        for target in (b"/" + b"x" * 5000, b"/%1b%5b2J%0a%e2%80%ae"):
            exchange(port, b"BREW" * 100 + b" " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    lines = [record.getMessage() for record in caplog.records if "BREW" in record.getMessage()]
    assert len(lines) == 2 and all(len(line) < 600 and line.isprintable() for line in lines)
