"""What a participant needs of every page: stored for the person, applied before the first paint on any machine."""
