"""What operators are told of: the closed list of alerts, their rows, and the ways they go out."""
