"""What a database contains, read at one snapshot: row sums, catalogue, sequences, migrations."""
