"""Every table of a conversation. The database itself keeps ceilings append-only."""

import companion.states
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

CEILINGS_APPEND_ONLY = """
CREATE FUNCTION companion_ceiling_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ceilings are append-only';
END
$$;
CREATE TRIGGER companion_ceiling_rows BEFORE UPDATE OR DELETE ON companion_ceiling
    FOR EACH ROW EXECUTE FUNCTION companion_ceiling_append_only();
CREATE TRIGGER companion_ceiling_table BEFORE TRUNCATE ON companion_ceiling
    FOR EACH STATEMENT EXECUTE FUNCTION companion_ceiling_append_only();
"""

CEILINGS_CHANGEABLE = """
DROP TRIGGER companion_ceiling_rows ON companion_ceiling;
DROP TRIGGER companion_ceiling_table ON companion_ceiling;
DROP FUNCTION companion_ceiling_append_only();
"""


class Migration(migrations.Migration):
    # Databases made before these were one have them all.
    replaces = [
        ("companion", "0001_first"),
        ("companion", "0002_ceiling"),
        ("companion", "0003_lanes"),
        ("companion", "0004_routing_version"),
        ("companion", "0005_house_ceiling"),
        ("companion", "0006_ceilings_stay"),
        ("companion", "0007_back_to_the_setting"),
        ("companion", "0008_what_is_served"),
        ("companion", "0009_settled_questions"),
        ("companion", "0010_conditions"),
        ("companion", "0011_live_indexes"),
        ("companion", "0012_visits_by_end"),
        ("companion", "0013_held_and_answered"),
        ("companion", "0014_drafts"),
        ("companion", "0015_tokens_of_attempts"),
        ("companion", "0016_link_misses"),
        ("companion", "0017_unsettled_by_expression"),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Ceiling',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.PositiveIntegerField(null=True)),
                ('by', models.CharField(max_length=100)),
                ('reason', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Participant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('is_active', models.BooleanField(default=True)),
                ('card_handle', models.CharField(max_length=8, unique=True)),
                ('card_issue', models.PositiveIntegerField(default=1)),
                ('link_misses', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('link_missed_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Process',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('host', models.CharField(max_length=100)),
                ('pid', models.IntegerField()),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('beat_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('draining', models.BooleanField(default=False)),
                ('sockets', models.IntegerField(default=0)),
                ('routing_version', models.IntegerField(db_default=0)),
                ('preset', models.CharField(blank=True, db_default='', max_length=64)),
                ('routing_hash', models.CharField(blank=True, db_default='', max_length=16)),
                ('persona_version', models.CharField(blank=True, db_default='', max_length=16)),
                ('documents_refused', models.IntegerField(db_default=0)),
                ('conditions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=140), db_default=models.Value('{}'), size=None)),
            ],
        ),
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=100)),
                ('is_open', models.BooleanField(default=True)),
                ('regions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, db_default=models.Value('{}'), default=list, size=None)),
            ],
        ),
        migrations.CreateModel(
            name='ReplyChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('turn_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('turn_id', models.BigIntegerField()),
                ('seq', models.IntegerField()),
                ('text', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='BreakerState',
            fields=[
                ('lane', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('state', models.CharField(db_default='closed', max_length=12)),
                ('generation', models.BigIntegerField(db_default=0)),
                ('strikes', django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(), db_default=models.Value('{}'), size=None)),
                ('openings', models.IntegerField(db_default=0)),
                ('opened_until', models.DateTimeField(null=True)),
                ('probe_owner', models.UUIDField(null=True)),
                ('probe_until', models.DateTimeField(null=True)),
                ('rest_until', models.DateTimeField(null=True)),
                ('last_failure', models.CharField(blank=True, db_default='', max_length=32)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'db_table': 'companion_breaker',
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['closed', 'open', 'half_open'])), name='breaker_known_state')],
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('watched_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='conversation', to='companion.participant')),
            ],
        ),
        migrations.AddField(
            model_name='participant',
            name='site',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='companion.site'),
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('key', models.UUIDField()),
                ('question', models.TextField()),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('speaking', 'speaking'), ('complete', 'complete'), ('paused', 'paused'), ('stopped', 'stopped'), ('refused', 'refused'), ('handed_over', 'handed_over')], max_length=12)),
                ('reason', models.CharField(blank=True, db_default='', max_length=32)),
                ('owner', models.UUIDField()),
                ('fence', models.IntegerField(db_default=0)),
                ('openings', models.JSONField(db_default=models.Value([], models.JSONField()))),
                ('reply', models.TextField(blank=True, db_default='')),
                ('seq', models.IntegerField(db_default=0)),
                ('chunk_lengths', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), db_default=models.Value('{}'), size=None)),
                ('line', models.TextField(blank=True, db_default='')),
                ('held_until', models.DateTimeField(null=True)),
                ('settled', models.CharField(blank=True, choices=[('', ''), ('asked_again', 'asked_again'), ('let_go', 'let_go'), ('unanswerable', 'unanswerable')], db_default='', max_length=16)),
                ('settled_at', models.DateTimeField(null=True)),
                ('tried_along', models.SmallIntegerField(db_default=0)),
                ('tried_along_failure', models.CharField(blank=True, db_default='', max_length=32)),
                ('persona_version', models.CharField(max_length=16)),
                ('preset', models.CharField(blank=True, db_default='', max_length=64)),
                ('routing_version', models.IntegerField(db_default=0)),
                ('routing_hash', models.CharField(blank=True, db_default='', max_length=16)),
                ('lane', models.CharField(blank=True, db_default='', max_length=64)),
                ('lane_takes', models.IntegerField(db_default=0)),
                ('preset_ceiling', models.IntegerField(null=True)),
                ('house_ceiling', models.IntegerField(null=True)),
                ('model', models.CharField(blank=True, db_default='', max_length=200)),
                ('marked', models.BooleanField(db_default=False)),
                ('skipped', models.JSONField(db_default=models.Value([], models.JSONField()))),
                ('shortened', models.BooleanField(db_default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('wait_until', models.DateTimeField()),
                ('admitted_at', models.DateTimeField(null=True)),
                ('first_word_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('answered_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='answered', to='companion.turn')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='companion.conversation')),
            ],
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.SmallIntegerField()),
                ('lane', models.CharField(max_length=64)),
                ('model', models.CharField(max_length=200)),
                ('failure', models.CharField(blank=True, max_length=32)),
                ('status', models.SmallIntegerField(null=True)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('waited_s', models.FloatField()),
                ('started_s', models.FloatField()),
                ('took_s', models.FloatField()),
                ('bytes_received', models.BigIntegerField()),
                ('words', models.IntegerField()),
                ('input_tokens', models.IntegerField(null=True)),
                ('output_tokens', models.IntegerField(null=True)),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='companion.turn')),
            ],
        ),
        migrations.CreateModel(
            name='Visit',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='visits', to='companion.participant')),
            ],
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('conversation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='draft', serialize=False, to='companion.conversation')),
                ('visit', models.UUIDField()),
                ('text', models.TextField()),
                ('saved_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['saved_at'], name='draft_by_age')],
            },
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(fields=['conversation', 'id'], name='turn_by_conversation'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('state__in', [companion.states.TurnState['SPEAKING'], companion.states.TurnState['WAITING']])), fields=['id'], name='turn_live'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('conversation'), '+', models.Value(0)), django.db.models.expressions.CombinedExpression(models.F('id'), '+', models.Value(0)), condition=models.Q(('state__in', [companion.states.TurnState['SPEAKING'], companion.states.TurnState['WAITING']])), name='turn_beside'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('state__in', [companion.states.TurnState['SPEAKING'], companion.states.TurnState['WAITING']])), fields=['owner', 'id'], name='turn_by_owner'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(models.F('lane'), models.F('lane_takes'), django.db.models.functions.comparison.Coalesce('preset_ceiling', -1), django.db.models.functions.comparison.Coalesce('house_ceiling', -1), django.db.models.expressions.CombinedExpression(models.F('id'), '+', models.Value(0)), condition=models.Q(('state', companion.states.TurnState['WAITING'])), name='turn_waiting'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('held_until__isnull', False)), fields=['conversation', 'id'], name='turn_held'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('conversation'), '+', models.Value(0)), models.F('held_until'), condition=models.Q(('answered_by__isnull', True), ('held_until__isnull', False), ('settled', '')), name='turn_unsettled'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(fields=['closed_at'], name='turn_by_end'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('answered_by__isnull', True), ('settled', ''), ('state', companion.states.TurnState['PAUSED'])), fields=['held_until'], name='turn_held_until'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('state', companion.states.TurnState['COMPLETE'])), fields=['lane', 'closed_at'], name='turn_answered_on_lane'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('conversation', 'key'), name='turn_once_per_key'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(condition=models.Q(('state', companion.states.TurnState['SPEAKING'])), fields=('conversation',), name='turn_one_speaking'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', [companion.states.TurnState['WAITING'], companion.states.TurnState['SPEAKING'], companion.states.TurnState['COMPLETE'], companion.states.TurnState['PAUSED'], companion.states.TurnState['STOPPED'], companion.states.TurnState['REFUSED'], companion.states.TurnState['HANDED_OVER']])), name='turn_known_state'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state__in', [companion.states.TurnState['SPEAKING'], companion.states.TurnState['WAITING']])), models.Q(('closed_at__isnull', False), models.Q(('state__in', [companion.states.TurnState['SPEAKING'], companion.states.TurnState['WAITING']]), _negated=True)), _connector='OR'), name='turn_closed_when_ended'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('turn', 'number'), name='attempt_numbered'),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(fields=['participant', 'expires_at'], name='visit_by_participant_end'),
        ),
        migrations.RunSQL(CEILINGS_APPEND_ONLY, CEILINGS_CHANGEABLE),
    ]
