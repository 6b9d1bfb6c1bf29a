"""`qe selectors`: list and describe selectors."""

from qe.cli._strategies import strategies_application

app = strategies_application("selector", "qe.learning.selector", "forward")
