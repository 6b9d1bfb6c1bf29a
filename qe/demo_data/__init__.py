"""Artificial demo data: an invented language pair, a flawed translator of it and three judges."""

from qe.demo_data.generation import DemoData, generate

__all__ = ["DemoData", "generate"]
