"""Ways out: signs of life, the lock and the end reason of a visit, and the rules of a site for them."""

import companion.visits.ends
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0007_machines'),
    ]

    operations = [
        migrations.AddField(
            model_name='site',
            name='exit_address',
            field=models.CharField(blank=True, db_default='', max_length=200),
        ),
        migrations.AddField(
            model_name='site',
            name='idle_s',
            field=models.PositiveIntegerField(db_default=600),
        ),
        migrations.AddField(
            model_name='site',
            name='visit_hours',
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='visit',
            name='active_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name='visit',
            name='end_reason',
            field=models.CharField(blank=True, db_default='', max_length=12),
        ),
        migrations.AddField(
            model_name='visit',
            name='locked_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='visit',
            name='locks_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='visit',
            name='unlock_misses',
            field=models.PositiveSmallIntegerField(db_default=0),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('locked_at__isnull', True), ('locks_at__isnull', False)), fields=['locks_at'], name='visit_by_lock'),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('locked_at__isnull', False)), fields=['locked_at'], name='visit_locked'),
        ),
        migrations.AddConstraint(
            model_name='visit',
            constraint=models.CheckConstraint(condition=models.Q(('end_reason', ''), models.Q(('end_reason__in', [companion.visits.ends.EndReason['FINISHED'], companion.visits.ends.EndReason['QUICK_EXIT'], companion.visits.ends.EndReason['IDLE'], companion.visits.ends.EndReason['STAFF'], companion.visits.ends.EndReason['MOVED'], companion.visits.ends.EndReason['EXPIRED'], companion.visits.ends.EndReason['WITHDRAWN'], companion.visits.ends.EndReason['REPLACED']]), ('ended_at__isnull', False)), _connector='OR'), name='visit_known_end'),
        ),
    ]
