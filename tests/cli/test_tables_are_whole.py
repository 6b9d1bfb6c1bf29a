"""Verbs run, and every table that they print is whole at 60, 80, 120 and 200 columns."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qe.display.table import Table
from tests.display.whole import check_whole
from tests.factories import exit_code

WIDTHS = (60, 80, 120, 200)
N = 40
GOLD = "--gold gold --predictions first=first second-system-of-a-long-name=second"
TEXTS = "--references references --system base=base --system another-system=other"
VERBS = {
    "features list": 2,
    "features describe baseline17": 1,
    "features describe surface": 1,
    "learners list": 1,
    "learners describe lightgbm": 1,
    "selectors list": 1,
    "selectors describe forward": 1,
    f"evaluate {GOLD} --samples 200": 3,
    f"evaluate {GOLD} --baseline first --margin mae=0.1 --samples 200": 3,
    f"power {GOLD} --gain mae=0.05 --samples 200 --simulations 100": 1,
    f"compare {TEXTS} --metrics bleu chrf ter --samples 200": 1,
    f"compare {TEXTS} --metrics bleu --ranks --bucket length --samples 200": 2,
    "effort --target base --post-edit references --effort gold --target-language es": 1,
    "rank judgements.csv --samples 50": 1,
    "correlate --human human.tsv --metrics metric.tsv --samples 100": 1,
}

SLOW = ("effort", "rank", "power")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, labels, predictions and judgements, made."""
    folder, rng = tmp_path_factory.mktemp("whole"), np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(30)])
    lines = [list(rng.choice(words, rng.integers(4, 15))) for _ in range(N)]
    texts = {"references": 0.0, "base": 0.4, "other": 0.2}
    for name, share in texts.items():
        noisy = [" ".join("x" if rng.random() < share else word for word in line) for line in lines]
        (folder / name).write_text("\n".join(noisy) + "\n")
    gold = rng.uniform(1, 5, N)
    for name, spread in {"gold": 0.0, "first": 0.8, "second": 0.3}.items():
        (folder / name).write_text("".join(f"{x:.4f}\n" for x in gold + rng.normal(0, 1, N) * spread))
    systems = ["alpha-of-a-long-name", "beta", "gamma"]
    ranks = ["source_language,target_language,segment,judge,system,rank"]
    scores = {"human": ["system\tsegment\tscore"], "metric": ["system\tsegment\tscore"]}
    for segment in range(N):
        for place, system in enumerate(rng.permutation(systems)):
            ranks.append(f"en,es,{segment},j{segment % 3},{system},{place + 1}")
            for name, spread in {"human": 1.0, "metric": 2.0}.items():
                value = systems.index(system) + rng.normal() * spread
                scores[name].append(f"{system}\t{segment + 1}\t{value:.4f}")
    (folder / "judgements.csv").write_text("\n".join(ranks) + "\n")
    for name, rows in scores.items():
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Table]]:
    """The tables that have been turned to text for a terminal."""
    tables: list[Table] = []
    text = Table.text

    def kept(self: Table, width: int, sentences: int | None = None) -> str:
        tables.append(self)
        return text(self, width, sentences)

    monkeypatch.setattr(Table, "text", kept)
    yield tables


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [pytest.param(v, marks=pytest.mark.slow) if v.startswith(SLOW) else v for v in VERBS]
)
def test_tables_of_a_verb_are_whole(
    verb: str, world: Path, shown: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    assert exit_code(*verb.split(), *(["--quiet"] if "--samples" in verb else [])) == 0
    printed = list(shown)
    assert len(printed) >= VERBS[verb]
    for table in printed:
        for width in WIDTHS:
            check_whole(table, width)
