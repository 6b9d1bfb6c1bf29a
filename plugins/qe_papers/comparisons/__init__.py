"""A translation next to a second one: sequences, templates, projected edges."""
