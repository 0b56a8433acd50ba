"""Sites, participants, conversations and turns: fields, constraints and indexes. Only `ledger` writes turns."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Collate, Lower, Now

from companion.machines.models import Machine, PairingCode, VisitOffer, VisitWay
from companion.needs.models import Needs
from companion.states import LIVE, Settlement, TurnState
from companion.supervision.models import (
    Control,
    DisclosureCount,
    Flag,
    FlagStep,
    StaffPause,
    TranscriptEntry,
)
from companion.visits.ends import EndReason

__all__ = [
    "Attempt",
    "BreakerState",
    "Ceiling",
    "Control",
    "Conversation",
    "DisclosureCount",
    "Draft",
    "Flag",
    "FlagStep",
    "Machine",
    "Needs",
    "PairingCode",
    "Participant",
    "Process",
    "ReplyChunk",
    "Site",
    "StaffPause",
    "TranscriptEntry",
    "Turn",
    "Visit",
    "VisitOffer",
    "VisitWay",
]


class Site(models.Model):
    """A programme site, with the participants who go there and the staff who supervise them."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    is_open = models.BooleanField(default=True)
    regions = ArrayField(
        models.CharField(max_length=200), blank=True, default=list, db_default=models.Value("{}")
    )
    """Only lanes in these regions may receive what participants of this site write; empty: any region."""

    helpline_voice = models.CharField(max_length=40, blank=True, db_default="")
    helpline_text = models.CharField(max_length=40, blank=True, db_default="")
    """The numbers that the safety lines name: to call, and to write to."""
    helpline_owner = models.CharField(max_length=100, blank=True, db_default="")
    helpline_review_by = models.DateField(null=True)
    """Who answers for the numbers, and when they are looked at again."""
    quiet_s = models.PositiveIntegerField(null=True)
    """Seconds after a red message until the companion may speak again by itself; null: not before staff release it."""
    shows_reading = models.BooleanField(db_default=False)
    """Whether participants are shown that staff read along."""
    shares_person_words = models.BooleanField(db_default=True)
    """Whether prompts after a hand-back contain what the member of staff and the participant wrote."""
    first_ring_s = models.PositiveIntegerField(db_default=60)
    """Seconds until a flag that was not accepted is escalated to all staff of the site."""
    second_ring_s = models.PositiveIntegerField(db_default=180)
    """Seconds until it is escalated to the programme's on-call."""
    disclosure_s = models.PositiveIntegerField(db_default=10_800)
    """Seconds of talk after which it says again that it is a computer program; at most three hours."""
    idle_s = models.PositiveIntegerField(db_default=600)
    """Seconds without a sign of life after which a visit is locked; `Needs.idle_factor` multiplies them."""
    visit_hours = models.PositiveSmallIntegerField(null=True)
    """Hours after which a visit ends, whatever its participant does; null, or more: those of COMPANION_VISIT_S."""
    exit_address = models.CharField(max_length=200, blank=True, db_default="")
    """The https address that the quick exit leads to; empty: our own plain page."""
    keep_messages_days = models.PositiveIntegerField(null=True)
    keep_flags_days = models.PositiveIntegerField(null=True)
    keep_visits_days = models.PositiveIntegerField(null=True)
    keep_record_days = models.PositiveIntegerField(null=True)
    """Days until messages, closed flags, ended visits and entries of the audit record are deleted; null: never."""
    cards_only_on_machines = models.BooleanField(db_default=False)
    """Whether cards of this site open visits on its machines alone."""
    prints_names_on_cards = models.BooleanField(db_default=False)
    """Whether a printed card has the name of its holder on it."""
    language = models.CharField(max_length=16, db_default="en")
    """The language of participants for whom none is recorded, and of the pages before they sign in on its machines."""

    def __str__(self) -> str:
        return self.name


class Participant(models.Model):
    """An adult in the programme, who signs in with a card."""

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="participants")
    name = models.CharField(max_length=100)
    is_active = models.BooleanField(default=True)
    card_handle = models.CharField(max_length=8, unique=True)
    """The public part of the card. The rest is derived from the secret key and never stored."""
    card_issue = models.PositiveIntegerField(default=1)
    """Raising it invalidates every earlier card of this participant."""
    link_misses = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Wrong choices of pictures for the card's link, the last one at `link_missed_at`."""
    link_missed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        # Serves a search for the beginning of a name among the people of some sites.
        indexes = [models.Index(F("site"), Collate(Lower("name"), "C"), name="participant_by_name")]

    def __str__(self) -> str:
        return self.name


class Visit(models.Model):
    """One signed-in session of a participant in one browser."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="visits")
    opened_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # Without an index of its own: the one of visits that have not ended is all that is needed.
    machine = models.ForeignKey(
        Machine, null=True, on_delete=models.SET_NULL, db_index=False, related_name="visits"
    )
    """The machine of the participant's site on which it is; null: another browser."""
    way = models.CharField(max_length=8, blank=True, db_default="")
    """A `VisitWay`; empty for visits of earlier releases."""
    opened_by = models.CharField(max_length=150, blank=True, db_default="")
    """The member of staff who opened it, by name."""
    has_moved = models.BooleanField(db_default=False)
    """Whether it ended another live visit of the same participant: the page says that the chat has moved here."""
    end_reason = models.CharField(max_length=12, blank=True, db_default="")
    """An `EndReason`; empty: it has not ended, or was ended by an earlier release."""
    active_at = models.DateTimeField(db_default=Now())
    """When its participant last gave a sign of life; at most half a minute late."""
    locks_at = models.DateTimeField(null=True)
    """When it locks unless there is a sign of life; null: it was opened by an earlier release, and never locks."""
    locked_at = models.DateTimeField(null=True)
    """Since when it shows no words. It is live again when its participant comes back."""
    unlock_misses = models.PositiveSmallIntegerField(db_default=0)
    """Wrong choices of pictures on its locked page."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(way__in=["", *VisitWay]), name="visit_known_way"),
            models.CheckConstraint(
                condition=Q(end_reason="") | Q(ended_at__isnull=False, end_reason__in=list(EndReason)),
                name="visit_known_end",
            ),
        ]
        indexes = [
            # Bounds the search for a participant's live visits among all earlier ones.
            models.Index(fields=["participant", "expires_at"], name="visit_by_participant_end"),
            # Bounds the search for all live visits.
            models.Index(fields=["expires_at"], condition=Q(ended_at__isnull=True), name="visit_live"),
            # Finds the visits on a machine that have not ended.
            models.Index(
                fields=["machine"],
                condition=Q(ended_at__isnull=True, machine__isnull=False),
                name="visit_on_machine",
            ),
            # Each of these contains what the sweep of visits still has to look at.
            models.Index(
                fields=["locks_at"],
                condition=Q(ended_at__isnull=True, locked_at__isnull=True, locks_at__isnull=False),
                name="visit_by_lock",
            ),
            models.Index(
                fields=["locked_at"],
                condition=Q(ended_at__isnull=True, locked_at__isnull=False),
                name="visit_locked",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Conversation(models.Model):
    """The one conversation of a participant with the character, over all visits."""

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="conversation")
    started_at = models.DateTimeField(db_default=Now())
    watched_at = models.DateTimeField(db_default=Now())
    """When a page of this participant was last known to be open while a turn waited."""

    def __str__(self) -> str:
        return f"conversation {self.pk}"


class Draft(models.Model):
    """Words that are typed and not sent. Only `drafts` reads and writes them, for their writer."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, primary_key=True, related_name="draft"
    )
    visit = models.UUIDField()
    """The visit in which they were typed; a later visit restores them."""
    text = models.TextField()
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["saved_at"], name="draft_by_age")]

    def __str__(self) -> str:
        return f"draft of conversation {self.conversation_id}"


class Ceiling(models.Model):
    """The highest number of turns that speak at once, over all processes. Append-only: the last row is in force.

    A row without a value restores the setting COMPANION_CEILING.
    """

    value = models.PositiveIntegerField(null=True)
    by = models.CharField(max_length=100)
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"ceiling {'as set' if self.value is None else self.value}"


class BreakerState(models.Model):
    """The breaker state of a lane, shared by all processes; see `routing.breaker`. Only `breakers` writes it.

    Times are the database's. `generation` rises with every step from one state to another.
    """

    lane = models.CharField(primary_key=True, max_length=64)
    state = models.CharField(max_length=12, db_default="closed")
    generation = models.BigIntegerField(db_default=0)
    strikes = ArrayField(models.DateTimeField(), db_default=models.Value("{}"))
    openings = models.IntegerField(db_default=0)
    opened_until = models.DateTimeField(null=True)
    probe_owner = models.UUIDField(null=True)
    probe_until = models.DateTimeField(null=True)
    rest_until = models.DateTimeField(null=True)
    last_failure = models.CharField(max_length=32, blank=True, db_default="")
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "companion_breaker"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["closed", "open", "half_open"]), name="breaker_known_state"
            )
        ]

    def __str__(self) -> str:
        return f"breaker of {self.lane}"


class Process(models.Model):
    """One web process and its heartbeat: a new row at every start, with the database's clock."""

    id = models.UUIDField(primary_key=True)
    host = models.CharField(max_length=100)
    pid = models.IntegerField()
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(db_default=Now())
    draining = models.BooleanField(default=False)
    sockets = models.IntegerField(default=0)
    routing_version = models.IntegerField(db_default=0)
    """The version of the selection by which turns that start now are served."""
    preset = models.CharField(max_length=64, blank=True, db_default="")
    """The preset by which they are served; empty for a process of an older release."""
    routing_hash = models.CharField(max_length=16, blank=True, db_default="")
    """The hash of the routing file that the process has read; empty without a file."""
    persona_version = models.CharField(max_length=16, blank=True, db_default="")
    documents_refused = models.IntegerField(db_default=0)
    """Distinct selections that the process could not use since it started."""
    conditions = ArrayField(models.CharField(max_length=140), db_default=models.Value("{}"))
    """`KIND ABOUT` for each fault of its configuration that the process knows."""
    pages = ArrayField(models.BigIntegerField(), db_default=models.Value("{}"))
    """The conversations whose participants have a page open here."""

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class Turn(models.Model):
    """One question and its reply. These rows are the queue, the slots and the history."""

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    key = models.UUIDField()
    """Chosen by the page when it first sends the message. The same key is the same turn."""
    question = models.TextField()
    state = models.CharField(max_length=12, choices=[(state.value, state.value) for state in TurnState])
    reason = models.CharField(max_length=32, blank=True, db_default="")
    """Why the turn ended as it did: a `Reason`, or the `FailureClass` of the call that failed."""

    owner = models.UUIDField()
    """The process that drives the turn: a lease, valid while that process's heartbeat is young."""
    fence = models.IntegerField(db_default=0)
    """Increases with each admission; a write that names an older value changes no row."""

    openings = models.JSONField(db_default=models.Value([], models.JSONField()))
    """[{"kind", "line"}]: drafted lines shown before the first words."""
    reply = models.TextField(blank=True, db_default="")
    """The whole reply, stored when the turn ends. Read it through `history`, which hides half answers."""
    seq = models.IntegerField(db_default=0)
    chunk_lengths = ArrayField(models.IntegerField(), db_default=models.Value("{}"))
    """The length of each chunk of the reply, in code points, so that a late reader receives the same chunks."""
    line = models.TextField(blank=True, db_default="")
    """The drafted line that was shown when the turn ended; empty: none."""

    held_until = models.DateTimeField(null=True)
    answered_by = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="answered")
    settled = models.CharField(
        max_length=16, blank=True, db_default="", choices=[(one.value, one.value) for one in Settlement]
    )
    settled_at = models.DateTimeField(null=True)
    tried_along = models.SmallIntegerField(db_default=0)
    """Later turns that included this question and failed before a word because of their content."""
    tried_along_failure = models.CharField(max_length=32, blank=True, db_default="")
    """The `FailureClass` of the last of them."""

    persona_version = models.CharField(max_length=16)
    language = models.CharField(max_length=16, blank=True, db_default="")
    """The language of its participant when it was opened: every drafted line of it is in this one. Empty: the first."""
    easy_words = models.BooleanField(db_default=False)
    """Whether the prompt asks for easy words: the instruction is in the persona of `persona_version`."""
    preset = models.CharField(max_length=64, blank=True, db_default="")
    routing_version = models.IntegerField(db_default=0)
    routing_hash = models.CharField(max_length=16, blank=True, db_default="")
    """The hash of the routing file of the lane, once one was called; empty without a file."""
    lane = models.CharField(max_length=64, blank=True, db_default="")
    """The lane of its slot while the turn is live; afterwards the lane that answered, or was called last."""
    lane_takes = models.IntegerField(db_default=0)
    preset_ceiling = models.IntegerField(null=True)
    house_ceiling = models.IntegerField(null=True)
    """The limits it was opened under: what its first lane takes, the preset's own ceiling, if it has one, and the
    setting of the process that opened it (rows of older releases have none)."""
    model = models.CharField(max_length=200, blank=True, db_default="")
    marked = models.BooleanField(db_default=False)
    """Whether the lane that answered, or the preset, marks replies as reduced."""
    skipped = models.JSONField(db_default=models.Value([], models.JSONField()))
    """[{"lane", "why", "until", "tried"}]: lanes of its chain whose breaker barred them. `tried`: all were barred, and
    this one was called nevertheless, because it recovers soonest."""
    shortened = models.BooleanField(db_default=False)

    created_at = models.DateTimeField(db_default=Now())
    wait_until = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True)
    first_word_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    show_at = models.DateTimeField(null=True)
    """Until then a red message reads as waiting: the wording of its line is being decided, for a second at most."""

    class Meta:
        constraints = [
            # A page that does not know whether its message arrived sends it again: the key makes that harmless.
            models.UniqueConstraint(fields=["conversation", "key"], name="turn_once_per_key"),
            # The database itself refuses a second reply at once, whatever the gate believes.
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(state=TurnState.SPEAKING), name="turn_one_speaking"
            ),
            models.CheckConstraint(condition=Q(state__in=list(TurnState)), name="turn_known_state"),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, state__in=sorted(LIVE))
                | Q(closed_at__isnull=False) & ~Q(state__in=sorted(LIVE)),
                name="turn_closed_when_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "id"], name="turn_by_conversation"),
            # Few of millions of turns are live, and each of these indexes contains live turns only.
            models.Index(fields=["id"], condition=Q(state__in=sorted(LIVE)), name="turn_live"),
            # `turn_conditions` says why the columns are expressions.
            models.Index(
                F("conversation") + 0, F("id") + 0, condition=Q(state__in=sorted(LIVE)), name="turn_beside"
            ),
            models.Index(fields=["owner", "id"], condition=Q(state__in=sorted(LIVE)), name="turn_by_owner"),
            # In the order in which the gate walks the queues: see `ADMIT` in `waiting_room`.
            models.Index(
                "lane",
                "lane_takes",
                Coalesce("preset_ceiling", -1),
                Coalesce("house_ceiling", -1),
                F("id") + 0,
                condition=Q(state=TurnState.WAITING),
                name="turn_waiting",
            ),
            models.Index(
                fields=["conversation", "id"], condition=Q(held_until__isnull=False), name="turn_held"
            ),
            models.Index(
                F("conversation") + 0,
                F("held_until"),
                condition=Q(held_until__isnull=False, answered_by__isnull=True, settled=""),
                name="turn_unsettled",
            ),
            # The last hour and retention are read by the time of the end.
            models.Index(fields=["closed_at"], name="turn_by_end"),
            models.Index(
                fields=["held_until"],
                condition=Q(state=TurnState.PAUSED, answered_by__isnull=True, settled=""),
                name="turn_held_until",
            ),
            models.Index(
                fields=["lane", "closed_at"],
                condition=Q(state=TurnState.COMPLETE),
                name="turn_answered_on_lane",
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk}"


class ReplyChunk(models.Model):
    """One chunk of a reply in progress: append-only, and deleted when the turn ends."""

    # No foreign key: the flush locks the live turn's row itself, so a check per chunk would be redundant.
    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = models.BigIntegerField()
    seq = models.IntegerField()
    text = models.TextField()

    def __str__(self) -> str:
        return f"turn {self.turn_id} chunk {self.seq}"


class Attempt(models.Model):
    """One call of a lane for a turn, failed or not. Times are in seconds since the turn was admitted."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="attempts")
    number = models.SmallIntegerField()
    lane = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    failure = models.CharField(max_length=32, blank=True)
    status = models.SmallIntegerField(null=True)
    code = models.CharField(max_length=64, blank=True)
    waited_s = models.FloatField()
    started_s = models.FloatField()
    took_s = models.FloatField()
    bytes_received = models.BigIntegerField()
    words = models.IntegerField()
    input_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    """As counted by the provider; None: not reported, or the call failed."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="attempt_numbered")]

    def __str__(self) -> str:
        return f"attempt {self.number} of turn {self.turn_id}"
