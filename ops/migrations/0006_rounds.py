import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ops", "0005_everything_but_normal_ends")]

    operations = [
        migrations.CreateModel(
            name="Round",
            fields=[
                ("job", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
    ]
