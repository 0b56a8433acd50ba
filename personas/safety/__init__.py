"""Noticing: rules, in our own process, that read what participants write and what the companion says."""

from personas.safety.findings import Finding, ReplyFinding, Tier
from personas.safety.language import SafetyRules
from personas.safety.load import check_file, load, load_file, name_kinds
from personas.safety.replies import ReplyReader

__all__ = [
    "Finding",
    "ReplyFinding",
    "ReplyReader",
    "SafetyRules",
    "Tier",
    "check_file",
    "load",
    "load_file",
    "name_kinds",
]
