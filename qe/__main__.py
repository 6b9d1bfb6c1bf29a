"""`python -m qe VERB ...`, the same as `qe VERB ...`."""

from qe.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
