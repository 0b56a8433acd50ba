"""What would stop a start here, in sentences: `manage.py preflight`, and what a process refuses when it starts."""
