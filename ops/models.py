"""What running the service keeps: who may see which site, who read what, and where questions are sent."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from companion.models import Site
from routing.lanes import NORMAL


class Supervision(models.Model):
    """A member of staff supervises a site: sees its people, and nobody else's."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="supervisions")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="supervisions")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "site"], name="supervision_once")]

    def __str__(self) -> str:
        return f"supervision {self.pk}"


class AuditEntry(models.Model):
    """Who read what, and about whom. Append-only: the database refuses to change or delete a row.

    Holds no word that anybody wrote. People are named by number, so the record outlives them.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    who = models.CharField(max_length=150)
    what = models.CharField(max_length=40)
    about = models.BigIntegerField(null=True)
    """The participant's id."""
    note = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        indexes = [models.Index(fields=["about", "id"], name="audit_by_person")]

    def __str__(self) -> str:
        return f"audit entry {self.pk}"


class Selection(models.Model):
    """Which preset was selected, by whom, why and until when. Append-only: this table is the trail itself.

    The database refuses a version that does not rise, and to change or delete a row. `ops.selections.selector`
    writes here, and `ops.selections.pins` when a selection expires.
    """

    version = models.IntegerField(primary_key=True)
    preset = models.CharField(max_length=40)
    by = models.CharField(max_length=100)
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(by="") & ~Q(reason=""), name="selection_who_and_why"),
            models.CheckConstraint(
                condition=Q(preset=NORMAL, expires_at__isnull=True)
                # Said for itself: a comparison with nothing is neither true nor false, and a check lets that pass.
                | ~Q(preset=NORMAL) & Q(expires_at__isnull=False) & Q(expires_at__gt=F("at")),
                name="selection_ends_unless_normal",
            ),
        ]

    def __str__(self) -> str:
        return f"selection {self.version}"


class LaneProbe(models.Model):
    """What came of one question of our own to one lane; see `ops.lane_checks.answers`."""

    lane = models.CharField(max_length=40)
    at = models.DateTimeField()
    ok = models.BooleanField()
    failure = models.CharField(max_length=32, blank=True)
    first_word_ms = models.IntegerField(null=True)
    words = models.IntegerField()
    how = models.CharField(max_length=8)

    class Meta:
        indexes = [models.Index(fields=["lane", "-at"], name="probe_by_lane")]

    def __str__(self) -> str:
        return f"probe of {self.lane}"


class Alert(models.Model):
    """Something a person should look at. One row for the same thing until somebody has said that they have seen it.

    `kind` is one of `ops.alerts.kinds`; `about` is a name, a number or a code. Never a word that anybody wrote.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=24)
    about = models.CharField(max_length=100)
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())
    count = models.IntegerField(db_default=1)
    site = models.ForeignKey(Site, null=True, on_delete=models.SET_NULL, related_name="+")
    """The site whose staff are told as well as operators."""
    turn = models.BigIntegerField(null=True)
    """The last turn that it was raised for."""
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, blank=True, db_default="")

    sent_by = ArrayField(models.CharField(max_length=8), db_default=models.Value("{}"))
    """The ways it has gone out by: `webhook`, and one for each e-mail address; see `ops.alerts.sending`."""
    send_at = models.DateTimeField(db_default=Now())
    """When sending it is tried next."""
    sendings = models.IntegerField(db_default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "about"],
                condition=Q(acknowledged_at__isnull=True),
                name="alert_once_while_open",
            )
        ]
        indexes = [models.Index(fields=["kind", "about", "id"], name="alert_by_kind_and_about")]

    def __str__(self) -> str:
        return f"alert {self.pk}"


class Round(models.Model):
    """When a job of the worker last went its round: a worker that is away can tell nobody so itself."""

    job = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"round of {self.job}"


class LaneDay(models.Model):
    """What the calls to one lane took on one day (UTC); see `ops.status.usage`. Holds nothing of any person."""

    day = models.DateField()
    lane = models.CharField(max_length=64)
    currency = models.CharField(max_length=3, blank=True)
    """Of `cost`; empty while the lane has no price."""
    calls = models.BigIntegerField()
    calls_told = models.BigIntegerField()
    """Calls whose provider told the tokens they took: `input_tokens`, `output_tokens` and `cost` are of these alone."""
    input_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=20, decimal_places=8)
    replies = models.BigIntegerField()
    replies_unmarked = models.BigIntegerField()
    cheaper_than = models.CharField(max_length=64, blank=True)
    """The head of the normal chain, if it costs more than this lane."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "lane", "currency"], name="lane_day_once"),
        ]

    def __str__(self) -> str:
        return f"{self.lane} on {self.day}"


class ContractCheck(models.Model):
    """What a contract check found; see `ops.lane_checks.contract`. Holds no reply. The last twenty are kept."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    preset = models.CharField(max_length=40, blank=True)
    """Whose chain was checked; empty: every lane."""
    routing_hash = models.CharField(max_length=16, blank=True)
    ok = models.BooleanField()
    document = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["preset", "-id"], name="check_by_preset")]

    def __str__(self) -> str:
        return f"contract check {self.pk}"


class MinuteFigures(models.Model):
    """What happened in one minute that is over, in numbers: see `ops.minutes`. Holds nothing of any person."""

    at = models.DateTimeField(primary_key=True)
    figures = models.JSONField()

    def __str__(self) -> str:
        return f"minute {self.at:%H:%M}"
