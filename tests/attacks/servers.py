"""A server of its own for attacks: `qe serve` as a process, and raw requests to it."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.patience import PATIENCE


@dataclass(frozen=True)
class Served:
    process: "subprocess.Popen[bytes]"
    port: int


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def served(model: Path, log: IO[bytes], *options: str) -> Iterator[Served]:
    """`qe serve` on a free port, ready; its stderr goes to `log`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "qe", "serve", "--model", str(model), "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=log, stdin=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        yield Served(process, port)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def honest_request(
    server: Served, records: Sequence[Mapping[str, str]], timeout: float = PATIENCE
) -> list[Any]:
    """The predictions for the records, over a connection of its own."""
    body = json.dumps({"dataframe_records": list(records)}).encode()
    url, kind = f"http://127.0.0.1:{server.port}/invocations", {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, kind), timeout=timeout) as answer:
        return list(json.load(answer)["predictions"])


def read_answer(client: socket.socket) -> Answer | None:
    """The next final answer of a connection; None where it is closed instead."""
    stream = client.makefile("rb")
    while True:
        first = stream.readline().split()
        if len(first) < 2:
            return None
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if int(first[1]) >= 200:
            return Answer(int(first[1]), headers, stream.read(int(headers.get("content-length", 0))))
