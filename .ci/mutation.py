"""Mutation score: small faults are put into the code one by one; how many do its tests notice?

    python .ci/mutation.py                    # every target, 40 faults each
    python .ci/mutation.py ter --sample 200   # more of one

A fault exchanges one comparison, operator, constant, `and`, `not`, or the branches of a condition. It is
noticed if a test fails, or takes `--seconds`. Faults are drawn with a seed. Each is tried in a process of its
own, forked after libraries were loaded; what Numba has kept of the file is not used there.
Survivors are printed: each shows a test that is missing, or changes nothing that
can be seen (docs/testing.md).
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import io
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_REFUSALS = "tests/statistics/test_refusals.py"
_METRICS = f"tests/statistics/metrics tests/statistics/test_bootstrap.py {_REFUSALS} qe/statistics/metrics"
_INTERVALS = (
    "tests/statistics/test_bootstrap.py tests/statistics/test_comparisons.py tests/statistics/test_many.py"
)
_RESAMPLING = f"{_INTERVALS} tests/statistics/test_randomization.py {_REFUSALS}"
# Name -> file -> the tests that ought to notice.
TARGETS = {
    "statistics": {
        "qe/statistics/bayesian.py": f"tests/statistics/test_bayesian.py {_REFUSALS}",
        "qe/statistics/family.py": "tests/statistics/test_family.py tests/statistics/test_many.py",
        "qe/statistics/intervals.py": _INTERVALS,
        "qe/statistics/resampling.py": _RESAMPLING,
        "qe/statistics/ranks.py": "tests/statistics/test_ranks.py tests/statistics/test_equivalence.py",
    },
    "metrics": {f"qe/statistics/metrics/{name}.py": _METRICS for name in ("classes", "errors", "ranking")},
    "ter": {"features/edits/ter.py": "tests/features/edits/test_ter.py"},
    "folds": {"qe/data/folds.py": "tests/data/test_folds.py tests/data/test_refusals.py"},
}
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the module with it, and where it is."""

    path: Path
    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All faults of a file, in its order."""
    tree = ast.parse(path.read_text("utf-8"))
    for place, node in enumerate(_judged(tree)):
        for kind in range(_kinds(node)):
            changed = copy.deepcopy(tree)
            target = list(_judged(changed))[place]
            before = ast.unparse(node)
            _change(target, kind)
            after = ast.unparse(target)
            if before != after:
                yield Mutant(path, node.lineno, before, after, ast.fix_missing_locations(changed))


def _judged(tree: ast.AST) -> Iterator[Any]:
    """Nodes that a fault can be put into; not types, words, or what stands outside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                yield from _inside(statement)
        else:
            yield from _judged(node)


def _inside(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.Raise | ast.Assert):  # what a message says is asked by its own tests
        return
    if _kinds(node):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def _kinds(node: ast.AST) -> int:
    """How many faults a node has."""
    match node:
        case ast.Compare(ops=[op]):
            return type(op) in _COMPARISONS
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return type(op) in _OPERATORS
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.USub()) | ast.IfExp():
            return 1
        case ast.Constant(value=bool()):
            return 1
        case ast.Constant(value=int() | float()):
            return 1
        case _:
            return 0


def _change(node: Any, kind: int) -> None:
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BinOp() | ast.AugAssign():
            node.op = _OPERATORS[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.UnaryOp(op=ast.Not()):
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=value):
            node.value = value + 1


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed tree."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.mutant.path)
        exec(compile(self.mutant.tree, str(self.mutant.path), "exec"), module.__dict__)


def noticed(mutant: Mutant | None, tests: Sequence[str], seconds: float) -> bool:
    """Whether the tests fail, or do not end in time, with the fault in place."""
    child = os.fork()
    if child == 0:
        os._exit(_tested(mutant, tests))
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _tested(mutant: Mutant | None, tests: Sequence[str]) -> int:
    import pytest

    if mutant is not None:
        name = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
        sys.meta_path.insert(0, Planted(name, mutant))
        _compile_anew(name)
    given = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "timeout=0"]
    with redirect_stdout(io.StringIO()) as told, redirect_stderr(told):
        code = int(pytest.main([*given, "-W", "ignore", *(str(ROOT / test) for test in tests)]))
    if mutant is None and code:
        print(told.getvalue(), file=sys.__stdout__, flush=True)
    return code


def _compile_anew(name: str) -> None:
    """What Numba has kept of a module is that of its file, not of the changed tree."""
    from numba.core.dispatcher import Dispatcher

    usual = Dispatcher.enable_caching

    def enable_caching(dispatcher: Any) -> None:
        if dispatcher.py_func.__module__ != name:
            usual(dispatcher)

    Dispatcher.enable_caching = enable_caching


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "targets", nargs="*", choices=[*TARGETS, []], help=f"of {', '.join(TARGETS)}; default: all"
    )
    parser.add_argument("--sample", type=int, default=40, help="faults of each target; 0: all (default: 40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180, help="longest time for the tests of one fault")
    arguments = parser.parse_args()
    if unknown := {*arguments.targets} - {*TARGETS}:
        parser.error(f"unknown: {', '.join(unknown)}; there is {', '.join(TARGETS)}")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for library in (
        "hypothesis",
        "numba",
        "pandas",
        "pytest",
        "scipy.stats",
        "sklearn.metrics",
        "statsmodels.api",
    ):
        importlib.import_module(library)
    for name in arguments.targets or TARGETS:
        found = [mutant for path in TARGETS[name] for mutant in mutants(ROOT / path)]
        _judge(name, len(found), drawn(found, arguments.sample, arguments.seed), arguments.seconds)


def drawn(found: Sequence[Mutant], count: int, seed: int) -> Sequence[Mutant]:
    """So many of the faults, in their order; all for 0."""
    if not 0 < count < len(found):
        return found
    return [found[place] for place in sorted(random.Random(seed).sample(range(len(found)), count))]


def _judge(name: str, count: int, faults: Sequence[Mutant], seconds: float) -> None:
    tests = {ROOT / path: given.split() for path, given in TARGETS[name].items()}
    for given in {fault.path: tests[fault.path] for fault in faults}.values():
        if noticed(None, given, seconds):
            sys.exit(f"{', '.join(given)}: fail, or are too slow, without any fault")
    survivors = 0
    for fault in faults:
        if not noticed(fault, tests[fault.path], seconds):
            survivors += 1
            print(f"  survived: {fault}", flush=True)
    share = 1 - survivors / len(faults)
    print(f"{name}: {len(faults) - survivors} of {len(faults)} noticed ({share:.0%}), of {count}", flush=True)


if __name__ == "__main__":
    main()
