"""A ceiling without a value: operators have gone back to the setting."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("companion", "0006_ceilings_stay")]

    operations = [
        migrations.AlterField(
            model_name="ceiling", name="value", field=models.PositiveIntegerField(null=True)
        ),
    ]
