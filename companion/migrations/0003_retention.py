"""For how long each site keeps messages, flags, visits and entries of the record."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0002_supervision'),
    ]

    operations = [
        migrations.AddField(
            model_name='site',
            name='keep_flags_days',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='site',
            name='keep_messages_days',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='site',
            name='keep_record_days',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='site',
            name='keep_visits_days',
            field=models.PositiveIntegerField(null=True),
        ),
    ]
