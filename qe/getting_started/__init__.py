"""The first hour: a demo, a first experiment, the catalogue."""
