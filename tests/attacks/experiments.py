"""Fuzzing of experiment files: mutations of experiments/, each refused in one message or accepted."""

import random
import shutil
import time
import traceback
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from features.basics.errors import InputError
from qe.config.experiment import load as load_unchecked
from qe.training.check import load
from tests.attacks.mutations import raw

ROOT = Path(__file__).resolve().parents[2]
SLOW = 20.0  # CPU seconds for one file
_VALUES: Final[tuple[Any, ...]] = (
    -1, 0, 1, 2, 2**31, 2**32, 2**63, 10**30, -0.5, 0.5, 1e-300, 1e308, float("inf"), float("nan"), True,
    False, None, "", " ", "x", "none", "ridge", "lightgbm", "svr_rbf", "lm", "mae", "a/b", "..", "{pair}",
    "{x}", "{", "*", "[", "\x00", "\ud800", "\x1b[31m", "é" * 50, "x" * 5000, "2012-13-45", "apertium",
    "udpipe:x", "+hunspell", [], [[]], [1], ["x"], {}, {"kind": "ridge"}, {"kind": []}, {"kind": None},
    {"set": 3}, {"low": 1, "high": 0}, {"low": 0, "high": 1, "log": True}, {"low": 1, "high": 9, "step": 0},
    {"low": "a", "high": "b"}, {1: 2}, {None: None}, {"members": [{"kind": "averaging"}]},
    [{"kind": "seed_averaging", "member": {}}],
)  # fmt: skip
_TEXTS: Final = (
    "!!int abc", "!!float x", "!!bool x", "!!timestamp 2012-13-45", "!!binary x", "!!set {a}",
    "!!python/name:os.system", "&a [*a]", "*nothing", "&a {b: *a}", "9" * 5000, "1:" * 100 + "1",
    "0x" + "f" * 30, "0o7", "1e999", "-.inf", "~", "[" * 500, "{a: " * 100, "- " * 100, "? ", "<<: 3",
    "<<: [{a: 1}]", "--- x", "%YAML 9", "\t", "'", '"\\ud800"', '"\\0"', "|", ">", "#", "@", "`",
    "2012-13-45", "a: b: c", ": ", "\x07", "\ufeff", "!", "&", "*", "!<x> y",
)  # fmt: skip


@dataclass
class Outcome:
    """What came of the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def fuzzed(seconds: float, seed: int, folder: Path) -> Outcome:
    """Mutates files for some seconds; `folder` takes the file that is being read."""
    rng, outcome, until = random.Random(seed), Outcome(), time.monotonic() + seconds
    paths = sorted(ROOT.glob("experiments/*/*.yaml"))
    originals = [path.read_text("utf-8") for path in paths]
    for path in paths:  # beside the mutated file, for those that extend another
        shutil.copy(path, folder)
        _make_inputs(path, folder / "data")
    while time.monotonic() < until:
        text = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            text = rng.choice((_other_value, _other_value, _other_text, _other_lines))(text, rng)
        path = folder / "fuzzed.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        _tried(path, folder / "data", outcome)
    return outcome


def _make_inputs(path: Path, data: Path) -> None:
    """Empty files and folders at the places that an experiment names, so that nothing is missing."""
    experiment = load_unchecked(path, data_root=data)
    experiment.dataset.path.mkdir(parents=True, exist_ok=True)
    for file in experiment.inputs():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def _tried(path: Path, data: Path, outcome: Outcome) -> None:
    started = time.process_time()
    try:
        str(load(path, data_root=data))
        outcome.counts["accepted"] += 1
    except InputError as error:
        outcome.counts["refused"] += 1
        if not str(error).startswith(str(path)):
            outcome.faults.append(f"the message does not name the file: {error}")
    except BaseException:
        outcome.counts["faults"] += 1
        outcome.faults.append(f"{traceback.format_exc()}\n{path.read_bytes()!r}")
    if time.process_time() - started > SLOW:
        outcome.faults.append(f"more than {SLOW} s: {path.read_bytes()!r}")


def _other_value(text: str, rng: random.Random) -> str:
    """One value anywhere, a key, or a whole section, becomes another."""
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError, LookupError):
        return text
    if not isinstance(content, dict) or not content:
        return text
    content = deepcopy(content)
    here: Any = content
    while True:
        key = rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
        inside = here[key]
        if isinstance(inside, dict | list) and inside and rng.random() < 0.8:
            here = inside
            continue
        value = deepcopy(rng.choice(_VALUES))
        if isinstance(here, dict) and rng.random() < 0.25:
            here[rng.choice((f"{key}s", "x", "params", "space", "kind", "only", "resources", "trees"))] = (
                value
            )
        elif rng.random() < 0.1:
            del here[key]
        else:
            here[key] = value
        break
    try:
        return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False))
    except (yaml.YAMLError, RecursionError, ValueError):
        return text


def _other_text(text: str, rng: random.Random) -> str:
    """One value becomes a text that only YAML could understand."""
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    key, colon, _ = lines[number].partition(":")
    lines[number] = f"{key}{colon} {rng.choice(_TEXTS)}" if colon else rng.choice(_TEXTS)
    return "\n".join(lines)


def _other_lines(text: str, rng: random.Random) -> str:
    """A line goes, comes twice, or has another indentation; or some bytes of a raw file change."""
    lines = text.split("\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at] = rng.choice((" ", "  ", "    ", "- ")) + lines[at]
        case _:
            return raw(text.encode("utf-8", "surrogatepass"), rng)[0].decode("utf-8", "replace")
    return "\n".join(lines)
