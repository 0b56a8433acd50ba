"""What the management commands share: arguments, progress, exit codes."""
