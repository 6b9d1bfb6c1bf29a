"""New translations: rows in, scores out."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`frame_of`, which the code of models that version 0.1 logged imports from here."""
    if name == "frame_of":
        from qe.scoring.jobs import frame_of

        return frame_of
    raise AttributeError(f"module 'qe.scoring' has no attribute '{name}'")
