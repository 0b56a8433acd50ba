"""Alerts to operators: the closed list of them, their rows, and the transports that send them."""
