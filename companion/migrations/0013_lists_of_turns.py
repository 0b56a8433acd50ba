"""Indexes for the lists of turns. They are built beside the writes of a running service, so outside a transaction."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('companion', '0012_limits_by_machine'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='turn',
            index=models.Index(condition=models.Q(('state__in', ['paused', 'refused', 'stopped'])), fields=['state', 'id'], name='turn_ended_apart'),
        ),
        AddIndexConcurrently(
            model_name='turn',
            index=models.Index(condition=models.Q(('state__in', ['paused', 'refused', 'stopped'])), fields=['conversation', 'state', 'id'], name='turn_of_person_apart'),
        ),
        AddIndexConcurrently(
            model_name='turn',
            index=models.Index(models.F('conversation') + 0, models.F('id') + 0, condition=models.Q(('answered_by__isnull', True), ('settled', ''), ('state', 'paused')), name='turn_unanswered_of_person'),
        ),
    ]
