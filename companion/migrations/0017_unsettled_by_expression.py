"""Kept questions are sought by an expression that no other index has, so that the planner cannot choose another."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("companion", "0016_link_misses")]

    operations = [
        migrations.RemoveIndex(model_name="turn", name="turn_unsettled"),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                models.F("conversation") + 0,
                models.F("held_until"),
                condition=models.Q(held_until__isnull=False, answered_by__isnull=True, settled=""),
                name="turn_unsettled",
            ),
        ),
    ]
