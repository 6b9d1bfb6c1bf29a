"""Translation engines, one per module of the same name."""
