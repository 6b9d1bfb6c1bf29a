"""`qe selectors`: list and describe selectors."""

from typing import Annotated

import typer

from qe.cli._application import Application
from qe.cli._options import Json
from qe.cli._strategies import print_all, print_one

app = Application()


@app.callback()
def selectors() -> None:
    """List and describe selectors: the names and parameters that experiments take."""


@app.command(name="list")
def list_(as_json: Json = False) -> None:
    """List the selectors: what each is, and which of its parameters a search draws.

    Example:

        qe selectors list
    """
    from qe.learning.selector import SELECTORS

    print_all(SELECTORS, as_json)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="A selector, as in `qe selectors list`.")],
    as_json: Json = False,
) -> None:
    """Describe a selector: what it does, its source and its parameters.

    Parameters are shown with defaults and search space.

    Example:

        qe selectors describe forward
    """
    from qe.learning.selector import SELECTORS

    print_one(SELECTORS, name, as_json)
