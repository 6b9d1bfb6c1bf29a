"""Feature sets of papers, as YAML."""
