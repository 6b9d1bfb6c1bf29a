"""Feature selection of the papers."""
