"""Words in, words out: lanes, adapters and the decisions between them. Imports no framework."""
