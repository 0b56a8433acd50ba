"""The only place that builds objects, from the settings. Each module imports what its own part needs, and no more."""
