"""`qe learners`: list and describe learners."""

from qe.cli._strategies import strategies_application

app = strategies_application("learner", "qe.learning.learner", "ridge")
