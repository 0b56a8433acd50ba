"""Where a copy is restored, what must be right first, and how it is cleared away."""
