"""Selection among the translations of several MT systems."""
