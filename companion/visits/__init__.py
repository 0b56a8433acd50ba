"""Visits: what makes one live, how it locks, and how it ends."""
