"""The whole story of a failing reply, played before people against a running service and its rehearsal provider."""
