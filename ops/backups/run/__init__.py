"""What every run has: its errors, its facts, its private folder, phases and signals."""
