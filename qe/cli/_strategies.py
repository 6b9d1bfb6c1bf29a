"""What `qe learners` and `qe selectors` print."""

from typing import Any

from features.basics.catalogue import Catalogue
from qe.cli._common import print_json


def print_all(catalogue: Catalogue[Any], as_json: bool) -> None:
    from qe.display.terminal import show
    from qe.getting_started.catalogue.strategies import listing, strategies

    if as_json:
        print_json("strategies", {f"{catalogue.noun}s": [one.to_json() for one in strategies(catalogue)]})
        return
    show(listing(catalogue))


def print_one(catalogue: Catalogue[Any], name: str, as_json: bool) -> None:
    from qe.display.terminal import show
    from qe.getting_started.catalogue.strategies import parameters_table, strategy

    one = strategy(catalogue, name)
    if as_json:
        print_json("strategy", one.to_json())
        return
    print(one.documentation, end="\n\n")
    if one.parameters:
        show(parameters_table(one))
