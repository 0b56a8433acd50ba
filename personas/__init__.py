"""The character: one file holds his name, voice, boundaries and every drafted line. Imports no framework."""
