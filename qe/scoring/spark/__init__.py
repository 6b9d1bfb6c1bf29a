"""The same work on Apache Spark; imported only with `--engine spark`."""
