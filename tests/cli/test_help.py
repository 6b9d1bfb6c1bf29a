"""Help: every verb in a group, two columns that fit the terminal, and examples that the parser takes."""

import re
import shlex
from typing import get_args

import pytest

from qe.cli import _help, main
from qe.cli._help import described
from qe.cli._verbs import GROUPS, command, commands, purpose, verbs
from qe.data.tag_files import LAYOUTS
from qe.evaluation import evaluate as evaluation
from qe.evaluation.oracles import ORACLES
from qe.evaluation.word_level import THRESHOLD_METRICS
from qe.statistics import settings
from qe.statistics.family import CORRECTIONS, SCOPES
from qe.statistics.metric import METRICS
from qe.statistics.result import TAILS
from qe.systems.text_metric import MT_METRICS
from qe_human.correlation import CORRELATIONS
from qe_human.ranking_method import RANKINGS
from qe_papers.selection.chooser import CHOOSERS
from qe_treebanks.annotator import ANNOTATORS
from tests.factories import Capsys, Monkeypatch, exit_code

COMMANDS = {name: one for verb in verbs() for name, one in commands(verb)}


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


def test_the_first_help_has_the_groups_and_fits(capsys: Capsys, monkeypatch: Monkeypatch) -> None:
    """A verb's first line says what it is for."""
    monkeypatch.setenv("COLUMNS", "80")
    main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    titles = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == list(GROUPS) and titles[0] == "start" and "production" in titles
    shown = dict(line.strip().split(maxsplit=1) for line in lines if line.startswith("  "))
    assert [*shown] == " ".join(GROUPS.values()).split()
    assert max(map(len, lines)) <= 80 and all(len(purpose(verb)) <= 64 for verb in verbs())
    assert all(told[0].isalnum() and told[-1] not in ".:" for told in shown.values()), shown


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_fits_its_terminal(name: str, columns: int, capsys: Capsys, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shown(name.split(), capsys).splitlines()
    cut = [line for line in lines if len(line) > columns and len(line.split()) > 1 and " --" not in line]
    assert not cut if columns > 40 else lines


@pytest.mark.parametrize("name", [name for name, one in COMMANDS.items() if not hasattr(one, "commands")])
def test_every_command_has_an_example_that_its_parser_takes(
    name: str, capsys: Capsys, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    given = examples(shown(name.split(), capsys))
    assert any(shlex.split(one)[1] == name.split()[0] for one in given), given
    for example in given:
        verb, *arguments = shlex.split(example.partition(" > ")[0])[1:]
        one = command(verb)
        while hasattr(one, "commands"):
            inner = arguments.pop(0) if arguments[0] in one.commands else one.default
            one = one.commands[inner]
        one.make_context(verb, arguments)  # raises for what is wrong


CHOICES = {
    ("evaluate", "test"): tuple(evaluation.TESTS),
    ("evaluate", "correct"): CORRECTIONS,
    ("evaluate", "family"): SCOPES,
    ("evaluate", "oracle"): ORACLES,
    ("evaluate words", "layout"): LAYOUTS,
    ("evaluate words", "thresholds_by"): THRESHOLD_METRICS,
    ("compare", "test"): get_args(settings.Test),
    ("compare", "tail"): TAILS,
    ("compare", "interval"): get_args(settings.Interval),
}


@pytest.mark.parametrize(("name", "option"), CHOICES)
def test_choices_are_those_of_the_library(name: str, option: str) -> None:
    (parameter,) = (one for one in COMMANDS[name].params if one.name == option)
    assert sorted(parameter.metavar.split("|")) == sorted(CHOICES[name, option])


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("compare", MT_METRICS.names),
        ("power", METRICS.names),
        ("rank", RANKINGS.names),
        ("correlate", CORRELATIONS.names),
        ("select", CHOOSERS.names),
        ("annotate train", ANNOTATORS.names),
    ],
)
def test_helps_name_everything_that_a_catalogue_has(
    verb: str, names: tuple[str, ...], capsys: Capsys
) -> None:
    assert ", ".join(names) in " ".join(shown(verb.split(), capsys).split())


def test_a_long_command_is_broken_where_a_shell_goes_on() -> None:
    command = "qe align --source train.en --target train.es --output links"
    lines = described(f"Example:\n\n    {command}", 30)
    assert len(lines) > 2 and shlex.split(" ".join(lines[1:]).replace(" \\", "")) == command.split()


def test_lists_of_names_are_filled_in() -> None:
    assert _help.filled("Metrics: {qe.systems.mt_metrics}.").startswith("Metrics: bleu, ")
