"""Numbers, tables, plots, pages, files: the only room that formats."""
