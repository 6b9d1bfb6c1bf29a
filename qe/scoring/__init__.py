"""New translations: rows in, scores out."""
