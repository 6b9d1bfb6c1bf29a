"""What the comparison of MT systems refuses, by the place that the message names."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.systems import Bleu, Table, Texts
from qe.systems.documents import blocks, evaluate_documents
from qe.systems.text_metric import metric, metrics_for
from tests.factories import ran, refuses
from tests.systems.test_comparison import NEW, OLD, REFERENCE, small
from tests.systems.test_dependency_f import WithoutHeads, made
from tests.systems.test_documents import statistics
from tests.systems.test_usual_tokens import CHINESE


def table_of(line: str) -> Any:
    return Table().statistics(Texts.from_lines(["1 2 3", line], "counts.txt"), [])


def usual_tokens(language: str | None) -> Any:
    return metrics_for(["bleu"], None, language, CHINESE)["bleu"].score(CHINESE, [CHINESE])


ROWS = statistics(80, 8)[0]
# What is refused, the function and its arguments.
CASES: list[tuple[Any, ...]] = [
    ("no language is given; --language zh, ja, th", usual_tokens, None),
    ("usual for 'th', .*--tokenize char", usual_tokens, "th"),
    ("needs MeCab and ipadic, .*--tokenize char", usual_tokens, "ja"),
    ("code 'English'; .*mean 'en'", usual_tokens, "English"),
    *((r"counts\.txt:2: expected 3 finite", table_of, line) for line in ("1 2", "1 2 x", "1 2 nan", "")),
    ("metric 'blue'; known: .*'bleu'", metric, "blue"),
    ("option 'orders'; known: tokenize", metric, "bleu:orders=3"),
    ("value '14a'; known: none, 13a", metric, "bleu:tokenize=14a"),
    ("whole number, but got 'x'", metric, "bleu:order=x"),
    ("true or false, but got 'maybe'", metric, "bleu:lowercase=maybe"),
    ("exp takes no smooth_value", metric, "bleu:smooth_value=1"),
    ("a number or null, but got 'nan'", metric, "bleu:smooth=add-k,smooth_value=nan"),
    ("asian_support has no effect", metric, "ter:asian_support=true"),
    ("tokenization 'spm'; known: none", Texts.from_lines(["a"]).tokens, "spm"),
    ("'chains' parses no dependencies", made(WithoutHeads()).score, ["a b"], [["a b"]]),
    ("12 segments, but 11 groups", partial(small, groups=[0] * 11), [OLD], [NEW]),
    ("10 documents, but 9", evaluate_documents, ROWS, np.ones(9), blocks(80, 8), Bleu().aggregate),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused(case: tuple[Any, ...]) -> None:
    refuses(*case)


ONE = "compare --references ref --system a=old "
TWO = "compare --references ref --system a=old --system b=new --metrics ter --output out "
SVR = "evaluate --gold scores --predictions more "
COMMANDS = {
    ONE + "b=short": "short has 2",
    "compare --system a=old": "no reference;",
    ONE + "a=new": "named twice: a",
    ONE + "--metrics blue": "did you mean 'bleu'",
    "compare --references hole --system a=old": "hole:2: empty reference",
    "compare --references ref --system a=missing": "missing: no such file",
    "compare --references ref --system a": "--system: expected NAME=VALUE",
    ONE + "--baseline b": "baseline 'b'; known: a",
    ONE + "--test t": "test 't'; known: ar",
    ONE + "--samples 1": "samples .* 19",
    ONE + "--correct tukey": "'tukey' is a test, not a correction",
    ONE + "--test bootstrap --exchange run": "'bootstrap' exchanges nothing",
    ONE + "--test scheffe --exchange run": "'scheffe' exchanges segment or segment-run",
    ONE + "--test tukey --tail less": "'tukey' is two-sided, .*'less'",
    ONE + "b=old,new": "use exchange 'run'",
    ONE + "--dev b=1,2": "--dev names no system: b",
    ONE + "--dev a=old": "no references for the devel",
    ONE + "--json --csv": "only one of --json",
    "compare --references empty --system a=empty": "empty: no segments",
    "compare --system a=nan --metrics table:score_of=mean": "nan:1: expected 1 finite",
    TWO + "--bucket quality": "--bucket quality names no file",
    TWO + "--corpus ref": "--corpus .* --bucket rare",
    TWO + "--bucket length=short": "4 segments, but 2 values of length",
    TWO + "--bucket length=hole --bucket length=hole": "named twice: length",
    TWO + "--source short": "short: 4 segments, but 2 sources",
    SVR + "--documents short": "documents of 2 segments, but",
    SVR + "--documents one": "names 1 document, but",
    SVR + "--documents old --group old": "--documents makes documents the units",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_commands_refuse(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, and nothing is printed or written."""
    monkeypatch.chdir(tmp_path)
    files = {"ref": REFERENCE[:4], "old": OLD[:4], "new": NEW[:4], "short": ["a b", "c"], "empty": []}
    files |= {"hole": [REFERENCE[0], "", *REFERENCE[2:4]], "nan": ["nan"] * 4, "one": ["a"] * 4}
    for name, lines in (files | {"scores": list("1234"), "more": list("2134")}).items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    done = ran(*command.split(), code=2)
    assert re.search(COMMANDS[command], done.err), done.err
    assert re.fullmatch(r"qe (compare|evaluate): .*\n", done.err) and done.out == ""
    assert not list(Path("out").glob("[!.]*"))
