"""A short soak and a short fuzz of `qe serve`; benchmarks has the long ones."""

from pathlib import Path

import pytest

from qe.data.table_rows import read_rows
from tests.attacks.servers import honest_request, served
from tests.factories import script

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def records(demo_model: Path) -> list[dict[str, str]]:
    rows = read_rows(demo_model.parent / "data" / "new.tsv")
    return [{"source": c["source"], "target": c["target"]} for c, _ in rows]


def test_honest_clients_are_answered_beside_hostile_ones_and_memory_stays_flat(
    demo_model: Path, records: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # for the process of the hostile clients
    soak = script(BENCHMARKS / "soak_server.py")
    with (tmp_path / "log").open("w+b") as log:
        # More places than clients: that the server is full shows in other tests.
        with served(demo_model, log, "--max-connections", "150", "--max-busy", "32") as server:
            for start in range(10):
                honest_request(server, records[start : start + 10])
            seen = soak.phase(server, records, 6.0, 0)
        length = log.seek(0, 2)
    assert not seen.failures and len(seen.latencies) >= 2
    assert set(seen.attacks) == {what.__name__ for what in soak.HOSTILE}
    tenth = max(1, len(seen.memory) // 10)
    assert max(seen.memory[tenth:]) - min(seen.memory[tenth:]) < 150  # MiB; one table of 3.9 GB was the case
    assert seen.descriptors < 150 + 4 * 64 + 64
    assert length < 100_000
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


def test_mutated_requests_get_one_json_object_below_500(
    demo_model: Path, records: list[dict[str, str]], tmp_path: Path
) -> None:
    fuzz = script(BENCHMARKS / "fuzz_server.py")
    with (tmp_path / "log").open("w+b") as log, served(demo_model, log, "--max-busy", "32") as server:
        outcome = fuzz.attack(server, records[:100], 5.0, 2, 1)
    assert not outcome.faults and outcome.statuses
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")
