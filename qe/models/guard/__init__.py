"""The guard: how unlike the training translations a row is, and what that does to its score."""
