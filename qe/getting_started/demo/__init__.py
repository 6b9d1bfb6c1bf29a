"""The demo: artificial data and the whole main job on it."""
