#!/usr/bin/env python
"""Runs a management command with the settings of ops.project."""

import gc
import os
import sys

# A command spends most of its time on imports, and what is imported stays. The collector would go through it again
# and again, for a sixth of the start.
gc.set_threshold(50_000, 20, 20)

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ops.project.settings")
    from ops.stack import switch

    switch.follow_state_folder()
    if sys.argv[1:2] in (["check_safety"], ["safety_report"]):
        # These read files only: they use neither, and the settings need both.
        for name, value in (("DATABASE_URL", "postgresql:///not_used"), ("SECRET_KEY", "not used")):
            if f"{name}_FILE" not in os.environ:
                os.environ.setdefault(name, value)
    if sys.argv[1:2] in (["bench"], ["growth"], ["ordeal"]) or (
        sys.argv[1:2] == ["load_test"] and "--own" in sys.argv
    ):
        # These bring a database of their own, whose address must be set before the settings are read.
        from ops.testbed import private_folder

        private_folder.enter()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
