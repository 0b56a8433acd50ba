#!/usr/bin/env python
"""Runs a management command with the settings of ops.project."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
