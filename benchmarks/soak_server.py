"""`qe serve` with honest and hostile clients: memory, latency, descriptors, log.

python benchmarks/soak_server.py --model output/demo/model --input output/demo/data/new.tsv   # 10 minutes
python benchmarks/soak_server.py --model output/demo/model --input output/demo/data/new.tsv --seconds 60

First honest clients alone (a sixth of the time, at least 2 s), then with hostile ones of every kind of
`HOSTILE`, in a process of their own. The latency of the honest is set beside what it was in the quiet, in
this very run; memory of the last tenth of the time beside that of the first, after the warm-up. CPU seconds
are the server's. The exit code is 1 where the median latency more than doubles, memory grows by more than
10 % and 20 MiB, an honest request fails, or the log is longer than 50 kB and 5 kB a second.
"""

import argparse
import json
import multiprocessing
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qe.data.table_rows import read_rows
from tests.attacks.requests import hostile as mutated
from tests.attacks.servers import Served, honest_request, read_answer, served

Records = list[dict[str, str]]


@dataclass
class Phase:
    """What honest clients saw, and what the server took, while some clients were at work."""

    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    descriptors: int = 0
    cpu: float = 0.0
    attacks: Counter[str] = field(default_factory=Counter)

    @property
    def median(self) -> float:
        return statistics.median(self.latencies)

    @property
    def p95(self) -> float:
        return sorted(self.latencies)[int(0.95 * (len(self.latencies) - 1))]


def silent(port: int, rng: random.Random, records: Records) -> None:
    """A connection that says nothing, until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.recv(1)


def slow_headers(port: int, rng: random.Random, records: Records) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(b"POST /invocations HTTP/1.1\r\nHost: localhost\r\nX: ")
        for _ in range(200):
            client.sendall(b"y")
            time.sleep(0.2)


def slow_body(port: int, rng: random.Random, records: Records) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(_head(999_999) + b'{"instances": ["' + b"x" * 10_000)
        for _ in range(200):
            client.sendall(b"y")
            time.sleep(0.2)


def flood(port: int, rng: random.Random, records: Records) -> None:
    """Many connections at once, with nonsense or nothing."""
    clients = []
    for number in range(100):
        clients.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        if number % 2:
            clients[-1].sendall(b"nonsense\r\n\r\n")
    time.sleep(0.5)
    for client in clients:
        client.close()


def wide(port: int, rng: random.Random, records: Records) -> None:
    """15,000 records with distinct keys."""
    _post(port, json.dumps({"dataframe_records": [{f"key{n}": 1} for n in range(15_000)]}).encode())


def deep(port: int, rng: random.Random, records: Records) -> None:
    _post(port, b'{"instances": ' + b"[" * 50_000 + b"]" * 50_000 + b"}")


def large(port: int, rng: random.Random, records: Records) -> None:
    _post(port, b'{"instances": ["' + b"x" * (9 << 20) + b'"]}')


def leaving(port: int, rng: random.Random, records: Records) -> None:
    """Half of a body, or a whole one, and away."""
    body = json.dumps({"dataframe_records": records[:20]}).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(_head(len(body)) + body[: len(body) // rng.choice([1, 2])])
    time.sleep(0.05)


def deaf(port: int, rng: random.Random, records: Records) -> None:
    """Asks again and again, and takes no answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
        time.sleep(5)


def nonsense(port: int, rng: random.Random, records: Records) -> None:
    """Mutated requests, as of benchmarks/fuzz_server.py."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
        client.sendall(mutated(records, rng)[0])
        read_answer(client)


# what -> (clients at a time, seconds between two attacks of a client)
HOSTILE: dict[Callable[[int, random.Random, Records], None], tuple[int, float]] = {
    silent: (20, 0.1),
    slow_headers: (10, 0.1),
    slow_body: (10, 0.1),
    flood: (1, 1.0),
    wide: (1, 1.0),
    deep: (1, 1.0),
    large: (1, 2.0),
    leaving: (1, 0.5),
    deaf: (1, 2.0),
    nonsense: (1, 0.2),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True, help="TSV with source and target")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    records = [{"source": c["source"], "target": c["target"]} for c, _ in read_rows(given.input)]
    quiet_seconds = max(2.0, given.seconds / 6)
    with tempfile.TemporaryFile() as log:
        with served(given.model, log, "--max-connections", "100", "--max-busy", "8") as server:
            for start in range(30):
                honest_request(server, records[start : start + 10])  # what is compiled and read once
            quiet = phase(server, records, quiet_seconds)
            loud = phase(server, records, given.seconds - quiet_seconds, given.seed)
        length = log.seek(0, 2)
    sys.exit(not passed(quiet, loud, length, given.seconds))


def phase(server: Served, records: Records, seconds: float, seed: int | None = None) -> Phase:
    """Two honest clients for so long; with a seed, hostile ones too."""
    made, process = Phase(), psutil.Process(server.process.pid)
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    assailants = context.Process(target=assail, args=(server.port, records[:200], seconds, seed, told))
    if seed is not None:
        assailants.start()
        told.get(timeout=60)
    times, end = process.cpu_times(), time.monotonic() + seconds

    def honest(number: int) -> None:
        while time.monotonic() < end:
            start = (len(made.latencies) * 7 + 100 * number) % max(1, len(records) - 10)
            begun = time.perf_counter()
            try:
                assert len(honest_request(server, records[start : start + 10])) == 10
                made.latencies.append(time.perf_counter() - begun)
            except (OSError, AssertionError) as error:
                made.failures.append(repr(error))
            time.sleep(0.1)

    threads = [threading.Thread(target=honest, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        made.memory.append(process.memory_info().rss / 2**20)
        made.descriptors = max(made.descriptors, process.num_fds())
        time.sleep(min(0.2, seconds / 50))
    for thread in threads:
        thread.join()
    now = process.cpu_times()
    made.cpu = now.user + now.system - times.user - times.system
    if seed is not None:
        made.attacks = told.get(timeout=60)
        assailants.kill()
    return made


def assail(port: int, records: Records, seconds: float, seed: int, told: Any) -> None:
    """All hostile clients for so long; what they did, as counts by kind."""
    told.put("ready")
    counts, end = Counter[str](), time.monotonic() + seconds

    def attack(what: Callable[[int, random.Random, Records], None], number: int, pause: float) -> None:
        rng = random.Random(f"{seed} {what.__name__} {number}")
        while time.monotonic() < end:
            counts[what.__name__] += 1
            with suppress(OSError, ValueError):
                what(port, rng, records)
            time.sleep(pause)

    for what, (clients, pause) in HOSTILE.items():
        for number in range(clients):
            threading.Thread(target=attack, args=(what, number, pause), daemon=True).start()
    time.sleep(seconds)
    told.put(counts)
    time.sleep(5)  # until this process is ended: what is in the queue has to be read


def passed(quiet: Phase, loud: Phase, log: int, seconds: float) -> bool:
    """Prints what came of it; whether it is what is promised."""
    for name, seen in (("quiet", quiet), ("attacked", loud)):
        print(
            f"{name:9} {len(seen.latencies):6,} honest requests of 10 segments:"
            f" median {1000 * seen.median:.1f} ms, 95th percentile {1000 * seen.p95:.1f} ms;"
            f" {len(seen.failures)} failed;"
            f" server: {seen.cpu:.1f} s of CPU, at most {seen.descriptors} descriptors"
        )
    tenth = max(1, len(loud.memory) // 10)
    early, late = statistics.median(loud.memory[tenth : 2 * tenth]), statistics.median(loud.memory[-tenth:])
    print(f"attacks: {', '.join(f'{count:,} {name}' for name, count in sorted(loud.attacks.items()))}")
    print(
        f"latency {loud.median / quiet.median:.2f} times the quiet median,"
        f" {loud.p95 / quiet.p95:.2f} times its 95th percentile; memory {early:.0f} MiB early,"
        f" {late:.0f} MiB late, {max(loud.memory):.0f} MiB at most; {log:,} bytes of log in {seconds:g} s"
    )
    for failure in (quiet.failures + loud.failures)[:10]:
        print(f"  {failure}", file=sys.stderr)
    return (
        loud.median <= 2 * quiet.median
        and (late <= 1.1 * early or late - early <= 20)
        and not quiet.failures + loud.failures
        and log <= max(50_000, 5_000 * seconds)
    )


def _head(length: int) -> bytes:
    lines = ["POST /invocations HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def _post(port: int, body: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(_head(len(body)) + body)
        read_answer(client)


if __name__ == "__main__":
    main()
