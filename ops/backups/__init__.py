"""The backup somebody has restored: backup, manifest, restore drill (D1 to D7)."""
