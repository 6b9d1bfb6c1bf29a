"""The experiment file: its schema, its loading, the spaces of a search."""
