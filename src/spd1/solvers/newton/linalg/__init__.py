"""Linear algebra on the lines of a working set."""
