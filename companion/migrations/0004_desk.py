"""The desk: open pages of each process, and indexes of live visits and of names."""

import django.contrib.postgres.fields
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0003_retention'),
    ]

    operations = [
        migrations.AddField(
            model_name='process',
            name='pages',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=models.Value('{}'), size=None),
        ),
        migrations.AddIndex(
            model_name='participant',
            index=models.Index(models.F('site'), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('name'), 'C'), name='participant_by_name'),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['expires_at'], name='visit_live'),
        ),
    ]
