"""The ways in at a site: its shared machines, the offers of staff to open a visit on one, and one visit at a time."""
