"""What the desk of staff needs: reasons that operators state, screens that are open, rings, and indexes."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0004_desk'),
        ('ops', '0002_personal_data'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeskProcess',
            fields=[
                ('process', models.UUIDField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('sites', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=models.Value('{}'), size=None)),
                ('readers', models.JSONField(db_default=models.Value([], models.JSONField()))),
            ],
        ),
        migrations.CreateModel(
            name='FlagRing',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('flag', models.BigIntegerField()),
                ('stage', models.SmallIntegerField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('send_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('sendings', models.IntegerField(db_default=0)),
                ('sent_by', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), db_default=models.Value('{}'), size=None)),
                ('done_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='StatedReason',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('staff', models.BigIntegerField()),
                ('name', models.CharField(max_length=150)),
                ('conversation', models.BigIntegerField()),
                ('participant', models.BigIntegerField()),
                ('reason', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('until', models.DateTimeField()),
            ],
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['who', 'id'], name='audit_by_who'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['what', 'id'], name='audit_by_what'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['at', 'id'], name='audit_by_time'),
        ),
        migrations.AddIndex(
            model_name='deskprocess',
            index=models.Index(fields=['at'], name='desk_process_by_time'),
        ),
        migrations.AddField(
            model_name='statedreason',
            name='site',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='companion.site'),
        ),
        migrations.AddIndex(
            model_name='flagring',
            index=models.Index(condition=models.Q(('done_at__isnull', True)), fields=['send_at'], name='ring_to_send'),
        ),
        migrations.AddIndex(
            model_name='flagring',
            index=models.Index(fields=['flag', 'id'], name='ring_by_flag'),
        ),
        migrations.AddIndex(
            model_name='statedreason',
            index=models.Index(fields=['staff', 'until'], name='stated_by_staff'),
        ),
        migrations.AddIndex(
            model_name='statedreason',
            index=models.Index(fields=['site', 'until'], name='stated_by_site'),
        ),
        migrations.AddConstraint(
            model_name='statedreason',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('name', ''), _negated=True), models.Q(('reason', ''), _negated=True)), name='stated_who_and_why'),
        ),
    ]
