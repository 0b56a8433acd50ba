"""Questions that no reply answered can be settled: asked again, let go, or found to be unanswerable."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("companion", "0008_what_is_served")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="settled",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", ""),
                    ("asked_again", "asked_again"),
                    ("let_go", "let_go"),
                    ("unanswerable", "unanswerable"),
                ],
                db_default="",
                max_length=16,
            ),
        ),
        migrations.AddField(model_name="turn", name="settled_at", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="turn", name="tried_along", field=models.SmallIntegerField(db_default=0)
        ),
        migrations.AddField(
            model_name="turn",
            name="tried_along_failure",
            field=models.CharField(blank=True, db_default="", max_length=32),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(held_until__isnull=False, answered_by__isnull=True, settled=""),
                fields=["conversation", "held_until"],
                name="turn_unsettled",
            ),
        ),
    ]
