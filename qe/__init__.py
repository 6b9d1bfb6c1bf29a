"""The training system: datasets, search, evaluation, tracking, models, scoring."""
