"""What people judged: rankings, correlations, post-editing effort."""
