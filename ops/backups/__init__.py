"""Backups, and the drills that prove that they restore (D1 to D7)."""
