"""Visits: how they are opened, what makes one live, how it locks, and how it ends."""
