"""MLflow: runs, metrics, artifacts, registered models."""
