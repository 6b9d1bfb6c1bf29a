"""Metrics against people: reading scores and judgements, comparing metrics, reports."""
