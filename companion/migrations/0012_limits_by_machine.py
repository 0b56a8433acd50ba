"""Pairing codes are limited for each network; wrong pictures are counted for each machine."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0011_languages'),
    ]

    operations = [
        migrations.AddField(
            model_name='pairingcode',
            name='network_hash',
            field=models.CharField(blank=True, db_default='', max_length=64),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(condition=models.Q(('machine__isnull', False), ('unlock_misses__gt', 0)), fields=['machine', 'expires_at'], name='visit_with_misses'),
        ),
    ]
