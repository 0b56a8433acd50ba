"""A dump, its manifest and signature, and the folder that keeps backups."""
