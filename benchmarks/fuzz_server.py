"""Mutated requests to `qe serve`: its answers, whether it lives on, tracebacks logged.

python benchmarks/fuzz_server.py --model output/demo/model --input output/demo/data/new.tsv  # 60 s

Mutated are bodies (JSON of every form, CSV), headers, methods, addresses, and the bytes of the request as a
whole (tests/attacks/requests.py). Every request that ends (h11 says which) has to be answered, by one JSON
object (but for /docs, /metrics, and HEAD), with a status below 500. Honest requests in between have to get
the scores of the model. The exit code is 1 if anything else came.
"""

import argparse
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import h11
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qe.data.table_rows import read_rows
from tests.attacks.requests import hostile
from tests.attacks.servers import Answer, Served, honest_request, read_answer, served

_TEXT = ("text/html", "text/plain")  # /docs and /metrics


@dataclass
class Outcome:
    """What came of the requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    honest: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True, help="TSV with source and target")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    records = [{"source": c["source"], "target": c["target"]} for c, _ in read_rows(given.input)][:200]
    with tempfile.TemporaryFile() as log:
        with served(given.model, log, "--max-busy", "32") as server:
            outcome = attack(server, records, given.seconds, given.clients, given.seed)
            resident = psutil.Process(server.process.pid).memory_info().rss / 2**20
        log.seek(0)
        text = log.read().decode("utf-8", "replace")
    outcome.faults += [
        f"in the log: {line}" for line in text.splitlines() if "Traceback" in line or " ERROR " in line
    ]
    print(
        f"{sum(outcome.statuses.values()):,} mutated requests in {given.seconds:g} s,"
        f" {outcome.honest:,} honest ones"
    )
    print(", ".join(f"{status}: {count:,}" for status, count in sorted(outcome.statuses.items())))
    print(f"{len(outcome.faults)} faults; {resident:.0f} MiB resident, {len(text):,} bytes of log")
    for fault in outcome.faults[:20]:
        print(f"  {fault}", file=sys.stderr)
    sys.exit(bool(outcome.faults))


def attack(server: Served, records: list[dict[str, str]], seconds: float, clients: int, seed: int) -> Outcome:
    """Several clients at a time; each asks honestly once in fifty requests."""
    outcome, end = Outcome(), time.monotonic() + seconds
    expected = honest_request(server, records[:3])

    def client(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        while time.monotonic() < end and server.process.poll() is None:
            sent, done = hostile(records, rng)
            ended = ends(sent)
            judge(outcome, ask(server, sent, 30 if ended else 0.2), done, ended)
            if rng.random() < 0.02:
                outcome.honest += 1
                if honest_request(server, records[:3]) != expected:
                    outcome.faults.append(f"other scores after {done}")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if server.process.poll() is not None:
        outcome.faults.append(f"the server ended with {server.process.returncode}")
    return outcome


def ask(server: Served, sent: bytes, waits: float) -> Answer | None:
    """The first answer; None without one in time, or if the connection is closed."""
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=waits) as client:
            client.sendall(sent)
            return read_answer(client)
    except OSError:
        return None


def ends(sent: bytes) -> bool:
    """Whether a request has an end, or is none."""
    connection = h11.Connection(h11.SERVER)
    try:
        connection.receive_data(sent)
        event = connection.next_event() if sent else h11.NEED_DATA
        while isinstance(event, h11.Request | h11.Data):
            event = connection.next_event()
    except h11.RemoteProtocolError:
        return True
    return isinstance(event, h11.EndOfMessage)


def judge(outcome: Outcome, answer: Answer | None, done: str, ended: bool) -> None:
    if answer is None:
        outcome.statuses["without an end"] += 1
        if ended:
            outcome.faults.append(f"no answer to {done}")
        return
    outcome.statuses[str(answer.status)] += 1
    if answer.status >= 500:
        outcome.faults.append(f"{answer.status} to {done}: {answer.body[:200]!r}")
    kind = answer.headers.get("content-type", "")
    if done.startswith("HEAD") or (kind.startswith(_TEXT) and answer.status == 200):
        return
    try:
        if not isinstance(json.loads(answer.body), dict):
            raise ValueError("no object")
    except ValueError:
        outcome.faults.append(f"no JSON object to {done}: {answer.body[:200]!r}")


if __name__ == "__main__":
    main()
