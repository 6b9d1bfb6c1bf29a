"""Flags: critical errors that can be pointed at, with the words concerned."""
