"""Safeguarding holds and the record of erasures; entries of the audit record may be deleted by age."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# Entries of the audit record may be deleted by age alone: in a transaction that says so, and never younger than 90 days.
AUDIT_DELETED_BY_AGE = """
CREATE OR REPLACE FUNCTION ops_auditentry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND TG_LEVEL = 'ROW' AND current_setting('companion.retention', true) = 'on'
       AND OLD.at < clock_timestamp() - interval '90 days' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit record is append-only';
END
$$;
"""

AUDIT_APPEND_ONLY = """
CREATE OR REPLACE FUNCTION ops_auditentry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only';
END
$$;
"""

# An erasure is finished once, and otherwise stays as it is.
ERASURES_STAY = """
CREATE FUNCTION ops_erasure_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.finished_at IS NULL
       AND to_jsonb(NEW) - 'finished_at' = to_jsonb(OLD) - 'finished_at' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the record of erasures is append-only';
END
$$;
CREATE TRIGGER ops_erasure_rows BEFORE UPDATE OR DELETE ON ops_erasure
    FOR EACH ROW EXECUTE FUNCTION ops_erasure_stays();
"""

ERASURES_CHANGEABLE = """
DROP TRIGGER ops_erasure_rows ON ops_erasure;
DROP FUNCTION ops_erasure_stays();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0003_retention'),
        ('ops', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('participant', models.BigIntegerField()),
                ('added_at', models.DateTimeField()),
                ('by', models.CharField(max_length=150)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('participant', 'added_at'), name='erasure_once')],
            },
        ),
        migrations.CreateModel(
            name='SafeguardingHold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=200)),
                ('review_by', models.DateField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_by', models.CharField(blank=True, db_default='', max_length=150)),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='companion.participant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['review_by'], name='hold_by_review')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('participant',), name='hold_once_while_open'), models.CheckConstraint(condition=models.Q(models.Q(('by', ''), _negated=True), models.Q(('reason', ''), _negated=True)), name='hold_who_and_why')],
            },
        ),
        migrations.RunSQL(AUDIT_DELETED_BY_AGE, AUDIT_APPEND_ONLY),
        migrations.RunSQL(ERASURES_STAY, ERASURES_CHANGEABLE),
    ]
