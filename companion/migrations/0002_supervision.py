"""The tables of supervision. The database adds a `Control` row to every conversation, and keeps steps of flags."""

import companion.states
import companion.supervision.states
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

CONTROL_OF_EACH = """
CREATE FUNCTION companion_control_of_conversation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO companion_control (conversation_id) VALUES (NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER companion_conversation_control AFTER INSERT ON companion_conversation
    FOR EACH ROW EXECUTE FUNCTION companion_control_of_conversation();
INSERT INTO companion_control (conversation_id) SELECT id FROM companion_conversation;
"""

NO_CONTROL_OF_EACH = """
DROP TRIGGER companion_conversation_control ON companion_conversation;
DROP FUNCTION companion_control_of_conversation();
"""

STEPS_APPEND_ONLY = """
CREATE FUNCTION companion_flagstep_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'steps of flags are append-only';
END
$$;
CREATE TRIGGER companion_flagstep_rows BEFORE UPDATE ON companion_flagstep
    FOR EACH ROW EXECUTE FUNCTION companion_flagstep_append_only();
"""

STEPS_CHANGEABLE = """
DROP TRIGGER companion_flagstep_rows ON companion_flagstep;
DROP FUNCTION companion_flagstep_append_only();
"""

# The state before this migration that shows the same: a drafted line. It knew `handed_over`.
STATES_OF_BEFORE = """
UPDATE companion_turn SET state = 'refused' WHERE state = 'safety';
"""


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Control',
            fields=[
                ('conversation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='control', serialize=False, to='companion.conversation')),
                ('quiet_since', models.DateTimeField(null=True)),
                ('quiet_until', models.DateTimeField(null=True)),
                ('quiet_told', models.BooleanField(db_default=False)),
                ('care_until', models.DateTimeField(null=True)),
                ('person', models.BigIntegerField(null=True)),
                ('person_name', models.CharField(blank=True, db_default='', max_length=150)),
                ('person_since', models.DateTimeField(null=True)),
                ('person_seen_at', models.DateTimeField(null=True)),
                ('take_overs', models.IntegerField(db_default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Flag',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('tier', models.CharField(choices=[('amber', 'amber'), ('red', 'red')], max_length=8)),
                ('kind', models.CharField(max_length=32)),
                ('source', models.CharField(choices=[('message', 'message'), ('reply', 'reply'), ('button', 'button'), ('screen', 'screen')], max_length=8)),
                ('rule', models.CharField(blank=True, db_default='', max_length=64)),
                ('rules_version', models.CharField(blank=True, db_default='', max_length=16)),
                ('about_staff', models.BooleanField(db_default=False)),
                ('participant', models.BigIntegerField()),
                ('turn', models.BigIntegerField(null=True)),
                ('count', models.IntegerField(db_default=1)),
                ('state', models.CharField(choices=[('open', 'open'), ('accepted', 'accepted'), ('closed', 'closed')], db_default='open', max_length=8)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('seen_at', models.DateTimeField(null=True)),
                ('owner', models.BigIntegerField(null=True)),
                ('owner_name', models.CharField(blank=True, db_default='', max_length=150)),
                ('accepted_at', models.DateTimeField(null=True)),
                ('handed_to', models.BigIntegerField(null=True)),
                ('handed_to_name', models.CharField(blank=True, db_default='', max_length=150)),
                ('closed_at', models.DateTimeField(null=True)),
                ('closed_by_name', models.CharField(blank=True, db_default='', max_length=150)),
                ('outcome', models.CharField(blank=True, choices=[('concern', 'concern'), ('no_concern', 'no_concern'), ('unsure', 'unsure')], db_default='', max_length=12)),
                ('stage', models.SmallIntegerField(db_default=0)),
                ('next_stage_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='FlagStep',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('what', models.CharField(max_length=20)),
                ('who', models.CharField(blank=True, db_default='', max_length=150)),
                ('note', models.TextField(blank=True, db_default='')),
            ],
        ),
        migrations.CreateModel(
            name='StaffPause',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('person', 'person'), ('site', 'site'), ('everyone', 'everyone')], max_length=8)),
                ('about', models.BigIntegerField(db_default=0)),
                ('reason', models.CharField(max_length=200)),
                ('by', models.BigIntegerField(null=True)),
                ('by_name', models.CharField(max_length=150)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_by_name', models.CharField(blank=True, db_default='', max_length=150)),
            ],
        ),
        migrations.CreateModel(
            name='TranscriptEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('said', 'said'), ('joins', 'joins'), ('leaves', 'leaves'), ('lost', 'lost'), ('help', 'help'), ('disclosure', 'disclosure'), ('reading', 'reading')], max_length=12)),
                ('key', models.UUIDField(null=True)),
                ('person', models.BigIntegerField(null=True)),
                ('name', models.CharField(blank=True, db_default='', max_length=150)),
                ('text', models.TextField()),
                ('version', models.CharField(blank=True, db_default='', max_length=16)),
                ('flag', models.BigIntegerField(null=True)),
                ('after_turn', models.BigIntegerField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('show_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='turn',
            name='turn_known_state',
        ),
        # Here, so that backwards it comes before the constraint that knows fewer states.
        migrations.RunSQL(migrations.RunSQL.noop, STATES_OF_BEFORE),
        migrations.AddField(
            model_name='site',
            name='disclosure_s',
            field=models.PositiveIntegerField(db_default=10800),
        ),
        migrations.AddField(
            model_name='site',
            name='first_ring_s',
            field=models.PositiveIntegerField(db_default=60),
        ),
        migrations.AddField(
            model_name='site',
            name='helpline_owner',
            field=models.CharField(blank=True, db_default='', max_length=100),
        ),
        migrations.AddField(
            model_name='site',
            name='helpline_review_by',
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name='site',
            name='helpline_text',
            field=models.CharField(blank=True, db_default='', max_length=40),
        ),
        migrations.AddField(
            model_name='site',
            name='helpline_voice',
            field=models.CharField(blank=True, db_default='', max_length=40),
        ),
        migrations.AddField(
            model_name='site',
            name='quiet_s',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='site',
            name='second_ring_s',
            field=models.PositiveIntegerField(db_default=180),
        ),
        migrations.AddField(
            model_name='site',
            name='shares_person_words',
            field=models.BooleanField(db_default=True),
        ),
        migrations.AddField(
            model_name='site',
            name='shows_reading',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='turn',
            name='show_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name='turn',
            name='state',
            field=models.CharField(choices=[('waiting', 'waiting'), ('speaking', 'speaking'), ('complete', 'complete'), ('paused', 'paused'), ('stopped', 'stopped'), ('refused', 'refused'), ('handed_over', 'handed_over'), ('safety', 'safety')], max_length=12),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', [companion.states.TurnState['WAITING'], companion.states.TurnState['SPEAKING'], companion.states.TurnState['COMPLETE'], companion.states.TurnState['PAUSED'], companion.states.TurnState['STOPPED'], companion.states.TurnState['REFUSED'], companion.states.TurnState['HANDED_OVER'], companion.states.TurnState['SAFETY']])), name='turn_known_state'),
        ),
        migrations.AddIndex(
            model_name='control',
            index=models.Index(condition=models.Q(('person__isnull', False)), fields=['person_seen_at'], name='control_taken_over'),
        ),
        migrations.AddIndex(
            model_name='control',
            index=models.Index(condition=models.Q(('quiet_since__isnull', False)), fields=['quiet_until'], name='control_quiet'),
        ),
        migrations.AddConstraint(
            model_name='control',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('person__isnull', True), ('person_seen_at__isnull', True), ('person_since__isnull', True)), models.Q(('person__isnull', False), ('person_seen_at__isnull', False), ('person_since__isnull', False)), _connector='OR'), name='control_person_whole'),
        ),
        migrations.AddField(
            model_name='flag',
            name='conversation',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='flags', to='companion.conversation'),
        ),
        migrations.AddField(
            model_name='flag',
            name='site',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='companion.site'),
        ),
        migrations.AddField(
            model_name='flagstep',
            name='flag',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='companion.flag'),
        ),
        migrations.AddConstraint(
            model_name='staffpause',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('scope', 'about'), name='pause_once_while_open'),
        ),
        migrations.AddConstraint(
            model_name='staffpause',
            constraint=models.CheckConstraint(condition=models.Q(('scope__in', [companion.supervision.states.PauseScope['PERSON'], companion.supervision.states.PauseScope['SITE'], companion.supervision.states.PauseScope['EVERYONE']])), name='pause_known_scope'),
        ),
        migrations.AddConstraint(
            model_name='staffpause',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reason', ''), _negated=True), models.Q(('by_name', ''), _negated=True)), name='pause_who_and_why'),
        ),
        migrations.AddField(
            model_name='transcriptentry',
            name='conversation',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='companion.conversation'),
        ),
        migrations.AddIndex(
            model_name='flag',
            index=models.Index(condition=models.Q(('state', companion.supervision.states.FlagState['CLOSED']), _negated=True), fields=['site', 'id'], name='flag_not_closed'),
        ),
        migrations.AddIndex(
            model_name='flag',
            index=models.Index(condition=models.Q(('state', companion.supervision.states.FlagState['OPEN'])), fields=['next_stage_at'], name='flag_to_escalate'),
        ),
        migrations.AddIndex(
            model_name='flag',
            index=models.Index(fields=['conversation', 'id'], name='flag_by_conversation'),
        ),
        migrations.AddIndex(
            model_name='flag',
            index=models.Index(fields=['site', 'opened_at'], name='flag_by_site_and_time'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', [companion.supervision.states.FlagState['OPEN'], companion.supervision.states.FlagState['ACCEPTED'], companion.supervision.states.FlagState['CLOSED']])), name='flag_known_state'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('accepted_at__isnull', True), ('owner__isnull', True), ('state', companion.supervision.states.FlagState['OPEN'])), models.Q(models.Q(('state', companion.supervision.states.FlagState['OPEN']), _negated=True), ('accepted_at__isnull', False), ('owner__isnull', False)), _connector='OR'), name='flag_owned_once_accepted'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('state', companion.supervision.states.FlagState['CLOSED']), models.Q(('outcome', ''), _negated=True)), models.Q(models.Q(('state', companion.supervision.states.FlagState['CLOSED']), _negated=True), ('closed_at__isnull', True), ('outcome', '')), _connector='OR'), name='flag_closed_with_outcome'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.UniqueConstraint(condition=models.Q(('state', companion.supervision.states.FlagState['OPEN'])), fields=('conversation', 'tier', 'kind'), name='flag_once_while_open'),
        ),
        migrations.AddIndex(
            model_name='flagstep',
            index=models.Index(fields=['flag', 'id'], name='flag_step_by_flag'),
        ),
        migrations.AddIndex(
            model_name='transcriptentry',
            index=models.Index(fields=['conversation', 'id'], name='entry_by_conversation'),
        ),
        migrations.AddIndex(
            model_name='transcriptentry',
            index=models.Index(fields=['conversation', 'after_turn', 'id'], name='entry_by_place'),
        ),
        migrations.AddConstraint(
            model_name='transcriptentry',
            constraint=models.UniqueConstraint(models.F('conversation'), models.F('key'), condition=models.Q(('key__isnull', False)), name='entry_once_per_key'),
        ),
        migrations.AddConstraint(
            model_name='transcriptentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', [companion.supervision.states.EntryKind['SAID'], companion.supervision.states.EntryKind['JOINS'], companion.supervision.states.EntryKind['LEAVES'], companion.supervision.states.EntryKind['LOST'], companion.supervision.states.EntryKind['HELP'], companion.supervision.states.EntryKind['DISCLOSURE'], companion.supervision.states.EntryKind['READING']])), name='entry_known_kind'),
        ),
        migrations.RunSQL(CONTROL_OF_EACH, NO_CONTROL_OF_EACH),
        migrations.RunSQL(STEPS_APPEND_ONLY, STEPS_CHANGEABLE),
    ]
