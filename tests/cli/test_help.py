"""Help: every verb in a group, two columns that fit the terminal, and examples that the parser takes."""

import re
import shlex
from typing import get_args

import pytest

from qe.cli import _help
from qe.cli._verbs import GROUPS, application, commands, verbs
from qe.data.tag_files import LAYOUTS
from qe.evaluation import evaluate as evaluation
from qe.evaluation.oracles import ORACLES
from qe.evaluation.word_level import THRESHOLD_METRICS
from qe.statistics.settings import CORRECTIONS, SCOPES, TAILS, Interval, Test
from tests.factories import Capsys, Monkeypatch, exit_code

COMMANDS = {name: one for verb in verbs() for name, one in commands(verb).items()}


def shown(arguments: list[str], capsys: Capsys) -> str:
    assert exit_code(*arguments, "--help") == 0
    return capsys.readouterr().out


def examples(text: str) -> list[str]:
    """The commands of a help, their lines joined as a shell joins them."""
    joined = re.sub(r" \\\n +", " ", text)
    return re.findall(r"^  (qe .*)$", joined, re.MULTILINE)


def test_every_verb_is_in_one_group() -> None:
    grouped = [verb for members in GROUPS.values() for verb in members.split()]
    assert sorted(grouped) == sorted(verbs())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_its_parser_takes(
    name: str, capsys: Capsys, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    given = examples(shown(name.split(), capsys))
    assert any(shlex.split(one)[1] == name.split()[0] for one in given), given
    for example in given:
        verb, first, *others = [*shlex.split(example.partition(" > ")[0])[1:], ""]
        commands_of = application(verb).commands(verb)
        one = commands_of.get(first) or COMMANDS[verb]
        words = others if first in commands_of and len(commands_of) > 1 else [first, *others]
        one.parse([word for word in words if word])  # raises for what is wrong


CHOICES = {
    ("evaluate", "test"): tuple(evaluation.TESTS),
    ("evaluate", "correct"): CORRECTIONS,
    ("evaluate", "family"): SCOPES,
    ("evaluate", "oracle"): ORACLES,
    ("evaluate words", "layout"): LAYOUTS,
    ("evaluate words", "thresholds_by"): THRESHOLD_METRICS,
    ("compare", "test"): get_args(Test),
    ("compare", "tail"): TAILS,
    ("compare", "interval"): get_args(Interval),
}


@pytest.mark.parametrize(("name", "option"), CHOICES)
def test_choices_are_those_of_the_library(name: str, option: str) -> None:
    (parameter,) = (one for one in COMMANDS[name].options if one.parameter == option)
    assert sorted(parameter.metavar.split("|")) == sorted(CHOICES[name, option])


def test_lists_of_names_are_filled_in() -> None:
    assert _help.filled("Metrics: {qe.systems.mt_metrics}.").startswith("Metrics: bleu, ")
