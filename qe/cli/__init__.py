"""The command line: one file per verb; each parses, calls one library function, prints."""

from qe.cli._main import main

__all__ = ["main"]
