"""Every table of running the service. The database itself keeps the audit record and selections append-only."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

AUDIT_APPEND_ONLY = """
CREATE FUNCTION ops_auditentry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only';
END
$$;
CREATE TRIGGER ops_auditentry_rows BEFORE UPDATE OR DELETE ON ops_auditentry
    FOR EACH ROW EXECUTE FUNCTION ops_auditentry_append_only();
CREATE TRIGGER ops_auditentry_table BEFORE TRUNCATE ON ops_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION ops_auditentry_append_only();
"""

AUDIT_CHANGEABLE = """
DROP TRIGGER ops_auditentry_rows ON ops_auditentry;
DROP TRIGGER ops_auditentry_table ON ops_auditentry;
DROP FUNCTION ops_auditentry_append_only();
"""

SELECTIONS_APPEND_ONLY = """
CREATE FUNCTION ops_selection_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- One at a time: each sees what the one before it has committed. The same lock as ops.selections.pins.LOCK.
    PERFORM pg_advisory_xact_lock(7205759404);
    IF NEW.version <= (SELECT coalesce(max(version), 0) FROM ops_selection) THEN
        RAISE EXCEPTION 'the version of a selection only rises' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION ops_selection_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'selections are append-only';
END
$$;
CREATE TRIGGER ops_selection_insert BEFORE INSERT ON ops_selection
    FOR EACH ROW EXECUTE FUNCTION ops_selection_rises();
CREATE TRIGGER ops_selection_rows BEFORE UPDATE OR DELETE ON ops_selection
    FOR EACH ROW EXECUTE FUNCTION ops_selection_append_only();
CREATE TRIGGER ops_selection_table BEFORE TRUNCATE ON ops_selection
    FOR EACH STATEMENT EXECUTE FUNCTION ops_selection_append_only();
"""

SELECTIONS_CHANGEABLE = """
DROP TRIGGER ops_selection_insert ON ops_selection;
DROP TRIGGER ops_selection_rows ON ops_selection;
DROP TRIGGER ops_selection_table ON ops_selection;
DROP FUNCTION ops_selection_rises();
DROP FUNCTION ops_selection_append_only();
"""


class Migration(migrations.Migration):
    # Databases made before these were one have them all.
    replaces = [
        ("ops", "0001_first"),
        ("ops", "0002_audit_is_append_only"),
        ("ops", "0003_selections_probes_alerts"),
        ("ops", "0004_selections_only_rise"),
        ("ops", "0005_everything_but_normal_ends"),
        ("ops", "0006_rounds"),
        ("ops", "0007_minute_figures"),
        ("ops", "0008_lane_days"),
        ("ops", "0009_alerts_of_sites"),
        ("ops", "0010_contract_checks"),
    ]

    initial = True

    dependencies = [
        ('companion', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='MinuteFigures',
            fields=[
                ('at', models.DateTimeField(primary_key=True, serialize=False)),
                ('figures', models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name='Round',
            fields=[
                ('job', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('who', models.CharField(max_length=150)),
                ('what', models.CharField(max_length=40)),
                ('about', models.BigIntegerField(null=True)),
                ('note', models.CharField(blank=True, db_default='', max_length=200)),
            ],
            options={
                'indexes': [models.Index(fields=['about', 'id'], name='audit_by_person')],
            },
        ),
        migrations.CreateModel(
            name='ContractCheck',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('preset', models.CharField(blank=True, max_length=40)),
                ('routing_hash', models.CharField(blank=True, max_length=16)),
                ('ok', models.BooleanField()),
                ('document', models.JSONField()),
            ],
            options={
                'indexes': [models.Index(fields=['preset', '-id'], name='check_by_preset')],
            },
        ),
        migrations.CreateModel(
            name='LaneDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('lane', models.CharField(max_length=64)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('calls', models.BigIntegerField()),
                ('calls_told', models.BigIntegerField()),
                ('input_tokens', models.BigIntegerField()),
                ('output_tokens', models.BigIntegerField()),
                ('cost', models.DecimalField(decimal_places=8, max_digits=20)),
                ('replies', models.BigIntegerField()),
                ('replies_unmarked', models.BigIntegerField()),
                ('cheaper_than', models.CharField(blank=True, max_length=64)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('day', 'lane', 'currency'), name='lane_day_once')],
            },
        ),
        migrations.CreateModel(
            name='LaneProbe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lane', models.CharField(max_length=40)),
                ('at', models.DateTimeField()),
                ('ok', models.BooleanField()),
                ('failure', models.CharField(blank=True, max_length=32)),
                ('first_word_ms', models.IntegerField(null=True)),
                ('words', models.IntegerField()),
                ('how', models.CharField(max_length=8)),
            ],
            options={
                'indexes': [models.Index(fields=['lane', '-at'], name='probe_by_lane')],
            },
        ),
        migrations.CreateModel(
            name='SelectionRow',
            fields=[
                ('version', models.IntegerField(primary_key=True, serialize=False)),
                ('preset', models.CharField(max_length=40)),
                ('by', models.CharField(max_length=100)),
                ('reason', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'ops_selection',
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('by', ''), _negated=True), models.Q(('reason', ''), _negated=True)), name='selection_who_and_why'), models.CheckConstraint(condition=models.Q(models.Q(('expires_at__isnull', True), ('preset', 'normal')), models.Q(models.Q(('preset', 'normal'), _negated=True), ('expires_at__isnull', False), ('expires_at__gt', models.F('at'))), _connector='OR'), name='selection_ends_unless_normal')],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=24)),
                ('about', models.CharField(max_length=100)),
                ('first_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('count', models.IntegerField(db_default=1)),
                ('turn', models.BigIntegerField(null=True)),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('acknowledged_by', models.CharField(blank=True, db_default='', max_length=150)),
                ('sent_by', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), db_default=models.Value('{}'), size=None)),
                ('send_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('sendings', models.IntegerField(db_default=0)),
                ('site', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='companion.site')),
            ],
            options={
                'indexes': [models.Index(fields=['kind', 'about', 'id'], name='alert_by_kind_and_about')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('acknowledged_at__isnull', True)), fields=('kind', 'about'), name='alert_once_while_open')],
            },
        ),
        migrations.CreateModel(
            name='Supervision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supervisions', to='companion.site')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supervisions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'site'), name='supervision_once')],
            },
        ),
        migrations.RunSQL(AUDIT_APPEND_ONLY, AUDIT_CHANGEABLE),
        migrations.RunSQL(SELECTIONS_APPEND_ONLY, SELECTIONS_CHANGEABLE),
    ]
