"""`python -m qe VERB ...`, the same as `qe VERB ...`."""

from features.storage.surroundings import leave_out_working_directory

leave_out_working_directory()  # before anything is imported that others could have put there

from qe.cli import main  # noqa: E402

__all__ = ["main"]

if __name__ == "__main__":
    main()
