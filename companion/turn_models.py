"""The tables of turns, of what is being said and of the calls of lanes. Only `ledger` and `journal` write them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from companion.states import LIVE, Settlement, TurnState

LISTED_APART = [TurnState.PAUSED, TurnState.REFUSED, TurnState.STOPPED]


class Turn(models.Model):
    """One question and its reply. These rows are the queue, the slots and the history."""

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey("companion.Conversation", on_delete=models.CASCADE, related_name="turns")
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
            # Few turns end in these states. Staff list them over all sites, and by the people of a site.
            models.Index(
                fields=["state", "id"], condition=Q(state__in=LISTED_APART), name="turn_ended_apart"
            ),
            models.Index(
                fields=["conversation", "state", "id"],
                condition=Q(state__in=LISTED_APART),
                name="turn_of_person_apart",
            ),
            models.Index(
                F("conversation") + 0,
                F("id") + 0,
                condition=Q(state=TurnState.PAUSED, answered_by__isnull=True, settled=""),
                name="turn_unanswered_of_person",
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
