"""Ranges that parameters of learners and selectors share."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

Inner = Annotated[float, Gt(0), Lt(1)]  # a share that leaves something on both sides
Part = Annotated[float, Gt(0), Le(1)]
Folds = Annotated[int, Ge(2)]
Threads = Annotated[int, Ge(1), Le(1024)] | Literal[-1]  # -1: one per core
