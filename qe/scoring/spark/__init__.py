"""The same work on Apache Spark; imported only where `--engine spark` is asked for."""
