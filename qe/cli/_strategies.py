"""`qe learners` and `qe selectors`: list and describe what experiments can name."""

from importlib import import_module
from typing import Any

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit

_LIST = """List the {noun}s: what each is, and which of its parameters a search draws.

Example:

    qe {noun}s list
"""
_DESCRIBE = """Describe a {noun}: what it does, its source, and its parameters with defaults and search space.

Example:

    qe {noun}s describe {example}

arguments:
  name  A {noun}, as in `qe {noun}s list`.
"""


def strategies_application(noun: str, module: str, example: str) -> Application:
    """The verb for the catalogue of a module, such as LEARNERS of qe.learning.learner."""
    app = Application()

    def catalogue() -> Any:
        return getattr(import_module(module), f"{noun.upper()}S")

    def group() -> None: ...

    def list_(json: bool = False) -> None:
        from qe.getting_started.catalogue.strategies import listing, strategies

        content = {f"{noun}s": [one.to_json() for one in strategies(catalogue())]} if json else {}
        emit("strategies", content, json, *([] if json else [listing(catalogue())]))

    def describe(name: str, json: bool = False) -> None:
        from qe.getting_started.catalogue.strategies import parameters_table, strategy

        one = strategy(catalogue(), name)
        if not json:
            print(one.documentation, end="\n\n")
        emit("strategy", one.to_json(), json, *([parameters_table(one)] if one.parameters else []))

    group.__doc__ = f"List and describe {noun}s: the names and parameters that experiments take."
    list_.__doc__ = _LIST.format(noun=noun)
    describe.__doc__ = _DESCRIBE.format(noun=noun, example=example)
    app.callback()(group)
    app.command(name="list")(list_)
    app.command()(describe)
    return app
