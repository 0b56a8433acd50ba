"""Whether two databases contain the same."""
