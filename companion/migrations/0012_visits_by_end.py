"""Find the live visits of a person without reading all earlier ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("companion", "0011_live_indexes")]

    operations = [
        migrations.AddIndex(
            model_name="visit",
            index=models.Index(fields=["participant", "expires_at"], name="visit_by_participant_end"),
        ),
    ]
