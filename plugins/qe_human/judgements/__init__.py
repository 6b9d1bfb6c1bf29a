"""Judgements of people about MT systems: reading them, and what is computed from them."""
