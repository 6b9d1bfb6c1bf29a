"""What `qe learners` and `qe selectors` print."""

import json
from typing import Any

from features.basics.catalogue import Catalogue


def print_all(catalogue: Catalogue[Any], as_json: bool) -> None:
    from qe.display.terminal import show
    from qe.getting_started.catalogue.strategies import listing, strategies

    if as_json:
        print(json.dumps([one.to_json() for one in strategies(catalogue)], indent=1))
        return
    show(listing(catalogue))


def print_one(catalogue: Catalogue[Any], name: str, as_json: bool) -> None:
    from qe.display.terminal import show
    from qe.getting_started.catalogue.strategies import parameters_table, strategy

    one = strategy(catalogue, name)
    if as_json:
        print(json.dumps(one.to_json(), indent=1))
        return
    print(one.documentation, end="\n\n")
    if one.parameters:
        show(parameters_table(one))
