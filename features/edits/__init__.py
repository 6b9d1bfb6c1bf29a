"""Edits between two texts: TER, edit alignments, class errors, METEOR, NIST."""
