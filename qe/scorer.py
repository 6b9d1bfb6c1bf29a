"""`qe.scoring.scorer` under its name in models that version 0.1 logged; their code imports it from here."""

from qe.scoring.scorer import Options, Scorer

__all__ = ["Options", "Scorer"]
