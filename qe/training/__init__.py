"""One experiment: preparation, extraction, search, fit, report."""
