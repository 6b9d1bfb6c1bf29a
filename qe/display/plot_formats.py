"""Formats of plots, for commands that do not load Matplotlib."""

from typing import Final

PLOTS: Final = "QE_PLOTS"  # the variable that names formats of plots next to PNG
PLOT_FORMATS: Final = ("png", "svg", "pdf")
