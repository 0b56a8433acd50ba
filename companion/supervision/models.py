"""The tables of supervision: who may speak in a conversation, flags, pauses, and what stands beside the turns.

Written by `companion.supervision` only. Members of staff are named by id and name, so that a row outlives the account.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from companion.supervision.states import (
    EntryKind,
    FlagOutcome,
    FlagSource,
    FlagState,
    FlagTier,
    PauseScope,
)


class Control(models.Model):
    """Who may speak in a conversation: the companion, unless it is quiet or a person has taken over.

    The database adds the row with its conversation. Every change compares and sets. A transaction that opens a turn
    locks the row FOR SHARE, so that no turn is opened beside a take-over.
    """

    conversation = models.OneToOneField(
        "companion.Conversation", on_delete=models.CASCADE, primary_key=True, related_name="control"
    )
    quiet_since = models.DateTimeField(null=True)
    """Since when the companion is quiet after a red message; null: it is not."""
    quiet_until = models.DateTimeField(null=True)
    """When it may speak again by itself; null: not before staff release it."""
    quiet_told = models.BooleanField(db_default=False)
    """Whether the drafted line about it was shown since `quiet_since`."""
    care_until = models.DateTimeField(null=True)
    """Until when prompts carry the drafted instruction for care."""

    person = models.BigIntegerField(null=True)
    """The id of the member of staff who has taken over; null: the companion speaks."""
    person_name = models.CharField(max_length=150, blank=True, db_default="")
    """The name that the participant reads."""
    person_since = models.DateTimeField(null=True)
    person_seen_at = models.DateTimeField(null=True)
    """The lease: when a screen of this person last showed the conversation."""
    take_overs = models.IntegerField(db_default=0)
    """Rises with every take-over; an act that names an older number changes nothing."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(person__isnull=True, person_since__isnull=True, person_seen_at__isnull=True)
                | Q(person__isnull=False, person_since__isnull=False, person_seen_at__isnull=False),
                name="control_person_whole",
            )
        ]
        indexes = [
            models.Index(
                fields=["person_seen_at"], condition=Q(person__isnull=False), name="control_taken_over"
            ),
            models.Index(
                fields=["quiet_until"], condition=Q(quiet_since__isnull=False), name="control_quiet"
            ),
        ]

    def __str__(self) -> str:
        return f"control of conversation {self.conversation_id}"


class StaffPause(models.Model):
    """The companion answers nothing for one person, for a site or for everyone, until a member of staff resumes it."""

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(max_length=8, choices=[(one.value, one.value) for one in PauseScope])
    about = models.BigIntegerField(db_default=0)
    """The id of the participant or of the site; 0 for everyone."""
    reason = models.CharField(max_length=200)
    by = models.BigIntegerField(null=True)
    by_name = models.CharField(max_length=150)
    at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    ended_by_name = models.CharField(max_length=150, blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "about"], condition=Q(ended_at__isnull=True), name="pause_once_while_open"
            ),
            models.CheckConstraint(condition=Q(scope__in=list(PauseScope)), name="pause_known_scope"),
            models.CheckConstraint(condition=~Q(reason="") & ~Q(by_name=""), name="pause_who_and_why"),
        ]
        indexes = [
            models.Index(
                fields=["scope", "about", "id"], condition=Q(ended_at__isnull=False), name="pause_ended"
            )
        ]

    def __str__(self) -> str:
        return f"pause {self.pk}"


class Flag(models.Model):
    """Something about a person that a named member of staff must accept. It never closes itself.

    Holds no participant's text. Equal causes in one conversation share one flag until it is accepted.
    """

    id = models.BigAutoField(primary_key=True)
    tier = models.CharField(max_length=8, choices=[(one.value, one.value) for one in FlagTier])
    kind = models.CharField(max_length=32)
    """A `FlagKind`, or the kind of the rule that matched."""
    source = models.CharField(max_length=8, choices=[(one.value, one.value) for one in FlagSource])
    rule = models.CharField(max_length=64, blank=True, db_default="")
    rules_version = models.CharField(max_length=16, blank=True, db_default="")
    about_staff = models.BooleanField(db_default=False)
    """It names staff or a carer, so it rings beyond the people it may be about."""

    conversation = models.ForeignKey(
        "companion.Conversation", null=True, on_delete=models.SET_NULL, related_name="flags"
    )
    """Null once the person is erased."""
    participant = models.BigIntegerField()
    site = models.ForeignKey("companion.Site", on_delete=models.PROTECT, related_name="flags")
    turn = models.BigIntegerField(null=True)
    """The turn whose message, or reply, raised it."""
    count = models.IntegerField(db_default=1)
    """Equal causes since it was raised."""

    state = models.CharField(
        max_length=8,
        choices=[(one.value, one.value) for one in FlagState],
        db_default=FlagState.OPEN.value,
    )
    opened_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())
    """When its last cause came."""
    seen_at = models.DateTimeField(null=True)
    """When a screen of the site's staff first showed it."""
    shown_count = models.IntegerField(db_default=0)
    """How many of its causes a screen of the site's staff has shown: the last ones may be on no screen."""
    owner = models.BigIntegerField(null=True)
    owner_name = models.CharField(max_length=150, blank=True, db_default="")
    accepted_at = models.DateTimeField(null=True)
    handed_to = models.BigIntegerField(null=True)
    """The member of staff to whom the owner hands it over, until they accept it by name."""
    handed_to_name = models.CharField(max_length=150, blank=True, db_default="")
    closed_at = models.DateTimeField(null=True)
    closed_by_name = models.CharField(max_length=150, blank=True, db_default="")
    outcome = models.CharField(
        max_length=12, blank=True, db_default="", choices=[(one.value, one.value) for one in FlagOutcome]
    )
    stage = models.SmallIntegerField(db_default=0)
    """How far it was escalated: 0 the screens of the site, 1 all staff of the site, 2 the programme's on-call."""
    next_stage_at = models.DateTimeField(null=True)
    """When it is escalated further, or on-call is rung again, unless it is accepted; null: as far as it goes."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=list(FlagState)), name="flag_known_state"),
            models.CheckConstraint(
                condition=Q(state=FlagState.OPEN, owner__isnull=True, accepted_at__isnull=True)
                | ~Q(state=FlagState.OPEN) & Q(owner__isnull=False, accepted_at__isnull=False),
                name="flag_owned_once_accepted",
            ),
            models.CheckConstraint(
                condition=Q(state=FlagState.CLOSED, closed_at__isnull=False) & ~Q(outcome="")
                | ~Q(state=FlagState.CLOSED) & Q(closed_at__isnull=True, outcome=""),
                name="flag_closed_with_outcome",
            ),
            models.UniqueConstraint(
                fields=["conversation", "tier", "kind"],
                condition=Q(state=FlagState.OPEN),
                name="flag_once_while_open",
            ),
        ]
        indexes = [
            models.Index(fields=["site", "id"], condition=~Q(state=FlagState.CLOSED), name="flag_not_closed"),
            models.Index(
                fields=["next_stage_at"], condition=Q(state=FlagState.OPEN), name="flag_to_escalate"
            ),
            models.Index(fields=["conversation", "id"], name="flag_by_conversation"),
            models.Index(fields=["site", "opened_at"], name="flag_by_site_and_time"),
        ]

    def __str__(self) -> str:
        return f"flag {self.pk}"


class FlagStep(models.Model):
    """One step in the life of a flag. Append-only: the database refuses to change a row."""

    id = models.BigAutoField(primary_key=True)
    flag = models.ForeignKey(Flag, on_delete=models.CASCADE, related_name="steps")
    at = models.DateTimeField(db_default=Now())
    what = models.CharField(max_length=20)
    """A `FlagStepKind`."""
    who = models.CharField(max_length=150, blank=True, db_default="")
    note = models.TextField(blank=True, db_default="")
    """Written by staff. Never sent to a model."""

    class Meta:
        indexes = [models.Index(fields=["flag", "id"], name="flag_step_by_flag")]

    def __str__(self) -> str:
        return f"step {self.pk} of flag {self.flag_id}"


class TranscriptEntry(models.Model):
    """What stands in a conversation beside its turns: words of a person, and drafted lines about who is there.

    Stored before it is shown, in the order of `id`.
    """

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(
        "companion.Conversation", on_delete=models.CASCADE, related_name="entries"
    )
    kind = models.CharField(max_length=12, choices=[(one.value, one.value) for one in EntryKind])
    key = models.UUIDField(null=True)
    """Chosen by the staff page when it first sends the words. The same key is the same entry."""
    person = models.BigIntegerField(null=True)
    name = models.CharField(max_length=150, blank=True, db_default="")
    text = models.TextField()
    version = models.CharField(max_length=16, blank=True, db_default="")
    """The version of the persona file that a drafted line is from."""
    flag = models.BigIntegerField(null=True)
    """The flag that a `help` line answers."""
    after_turn = models.BigIntegerField()
    """The newest turn of the conversation when it was stored; 0: none. It is shown after this turn."""
    at = models.DateTimeField(db_default=Now())
    show_at = models.DateTimeField(db_default=Now())
    """Not shown before this moment. A line whose wording is not decided yet waits here for at most a second."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("conversation"), F("key"), condition=Q(key__isnull=False), name="entry_once_per_key"
            ),
            models.CheckConstraint(condition=Q(kind__in=list(EntryKind)), name="entry_known_kind"),
        ]
        indexes = [
            models.Index(fields=["conversation", "id"], name="entry_by_conversation"),
            models.Index(fields=["conversation", "after_turn", "id"], name="entry_by_place"),
            models.Index(
                fields=["conversation", "id"],
                condition=Q(kind=EntryKind.DISCLOSURE),
                name="entry_disclosure",
            ),
        ]

    def __str__(self) -> str:
        return f"entry {self.pk}"


class DisclosureCount(models.Model):
    """How often the people of a site were shown in one year (UTC) that it is a computer program. Entries are erased."""

    site = models.ForeignKey("companion.Site", on_delete=models.CASCADE, related_name="+")
    year = models.SmallIntegerField()
    showings = models.IntegerField(db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "year"], name="disclosure_once_per_year")]

    def __str__(self) -> str:
        return f"disclosures of site {self.site_id} in {self.year}"
