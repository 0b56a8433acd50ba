"""Plain words for what pydantic refuses. A root package, because `personas` and `routing` do not import each other."""
