"""Sites, participants, conversations and processes; and every table of this room by name, as Django finds them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Collate, Lower, Now

from companion.machines.models import Machine, PairingCode, VisitOffer
from companion.needs.models import Needs
from companion.supervision.models import (
    Control,
    DisclosureCount,
    Flag,
    FlagStep,
    StaffPause,
    TranscriptEntry,
)
from companion.turn_models import Attempt, ReplyChunk, Turn
from companion.visits.models import Visit

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
    link_places = models.JSONField(default=dict, db_default={})
    """Where the card's link was tried or has opened a visit: `LinkTries` reads and bounds it."""
    link_misses = models.PositiveSmallIntegerField(default=0, db_default=0)
    link_missed_at = models.DateTimeField(null=True)
    """Nothing reads these two. Processes of 0.1.0, which may run beside this release, write them: drop them next."""
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        # Serves a search for the beginning of a name among the people of some sites.
        indexes = [models.Index(F("site"), Collate(Lower("name"), "C"), name="participant_by_name")]

    def __str__(self) -> str:
        return self.name


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
