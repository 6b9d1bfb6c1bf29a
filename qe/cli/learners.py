"""`qe learners`: list and describe learners."""

from typing import Annotated

import typer

from qe.cli._application import Application
from qe.cli._options import Json
from qe.cli._strategies import print_all, print_one

app = Application()


@app.callback()
def learners() -> None:
    """List and describe learners: the names and parameters that experiments take."""


@app.command(name="list")
def list_(as_json: Json = False) -> None:
    """List the learners: what each is, and which of its parameters a search draws.

    Example:

        qe learners list
    """
    from qe.learning.learner import LEARNERS

    print_all(LEARNERS, as_json)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="A learner, as in `qe learners list`.")],
    as_json: Json = False,
) -> None:
    """Describe a learner: what it does, its source and its parameters.

    Parameters are shown with defaults and search space.

    Example:

        qe learners describe ridge
    """
    from qe.learning.learner import LEARNERS

    print_one(LEARNERS, name, as_json)
