"""Offers are read by the newest of a machine; two foreign keys to machines need no index of their own."""


import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0009_told_and_lane'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='visitoffer',
            name='offer_by_machine',
        ),
        migrations.AlterField(
            model_name='visit',
            name='machine',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='visits', to='companion.machine'),
        ),
        migrations.AlterField(
            model_name='visitoffer',
            name='machine',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='companion.machine'),
        ),
        migrations.AddIndex(
            model_name='visitoffer',
            index=models.Index(fields=['machine', '-id'], name='offer_by_machine'),
        ),
    ]
