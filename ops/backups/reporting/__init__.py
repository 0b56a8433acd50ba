"""Verdict, report, and the drills on record."""
