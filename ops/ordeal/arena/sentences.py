"""What people and staff of a run write. Fixed and synthetic."""

PLAIN = (
    "What could I cook today?",
    "How do I plan my week?",
    "Tell me something about birds.",
    "Which walk would be nice in the rain?",
    "How do I write a letter to my landlord?",
    "What helps to get up in the morning?",
    "Can you help me make a list?",
    "What is a good book for the evening?",
)
AMBER = (
    "I cannot go on like this.",
    "Everyone would be better off without me.",
    "I have not eaten for three days.",
)
RED = ("I want to kill myself tonight.", "He hit me again yesterday.")
"""Amber and red under every version of the rules; `check_safety` tells."""
STAFF = ("I am here with you now.", "Thank you for telling me.", "Shall we go through it together?")
