"""The tables of operation: access of staff, the audit, selections, probes and checks of lanes, alerts, figures."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from companion.models import Participant, Site
from routing.lanes import NORMAL


class Supervision(models.Model):
    """A member of staff was given a site. The view `ops_supervised` says who supervises what."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="supervisions")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="supervisions")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "site"], name="supervision_once")]

    def __str__(self) -> str:
        return f"supervision {self.pk}"


class SiteGroup(models.Model):
    """Sites that are supervised together. A site may be in several."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.slug


class GroupedSite(models.Model):
    """A site is in a group."""

    group = models.ForeignKey(SiteGroup, on_delete=models.CASCADE, related_name="grouped")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="grouped")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "site"], name="grouped_once")]

    def __str__(self) -> str:
        return f"grouped site {self.pk}"


class GroupSupervision(models.Model):
    """A member of staff was given a group: they supervise each of its sites, also those that join it later."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="group_supervisions"
    )
    group = models.ForeignKey(SiteGroup, on_delete=models.CASCADE, related_name="supervisions")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "group"], name="group_supervision_once")]

    def __str__(self) -> str:
        return f"group supervision {self.pk}"


class StaffIdentity(models.Model):
    """The account of the identity provider that belongs to a member of staff; see `ops.people.staff_identities`."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identity")
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255)
    bound_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once")]

    def __str__(self) -> str:
        return f"identity {self.pk}"


class AuditEntry(models.Model):
    """Who did what, and about whom. Append-only: the database refuses to change or delete a row.

    Holds no participant's text. Participants are named by id, so the record outlives their rows.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    who = models.CharField(max_length=150)
    what = models.CharField(max_length=40)
    about = models.BigIntegerField(null=True)
    """The participant's id."""
    note = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["about", "id"], name="audit_by_person"),
            models.Index(fields=["who", "id"], name="audit_by_who"),
            models.Index(fields=["what", "id"], name="audit_by_what"),
            models.Index(fields=["at", "id"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"audit entry {self.pk}"


class SelectionRow(models.Model):
    """Which preset was selected, by whom, why and until when. Append-only: this table is its own audit trail.

    The database refuses a version that does not rise, and to change or delete a row. Written by `ops.selections`.
    """

    version = models.IntegerField(primary_key=True)
    preset = models.CharField(max_length=40)
    by = models.CharField(max_length=100)
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ops_selection"
        constraints = [
            models.CheckConstraint(condition=~Q(by="") & ~Q(reason=""), name="selection_who_and_why"),
            models.CheckConstraint(
                condition=Q(preset=NORMAL, expires_at__isnull=True)
                # A CHECK passes on NULL, so NOT NULL is explicit.
                | ~Q(preset=NORMAL) & Q(expires_at__isnull=False) & Q(expires_at__gt=F("at")),
                name="selection_ends_unless_normal",
            ),
        ]

    def __str__(self) -> str:
        return f"selection {self.version}"


class LaneProbe(models.Model):
    """The outcome of one test question to one lane; see `ops.lane_checks.answers`."""

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
    """Something that needs a person. Equal causes share one row until an operator acknowledges it.

    `kind` is an `ops.alerts.kinds.AlertKind`; `about` is a name, a number or a code. Holds no participant's text.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=24)
    about = models.CharField(max_length=100)
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())
    count = models.IntegerField(db_default=1)
    site = models.ForeignKey(Site, null=True, on_delete=models.SET_NULL, related_name="+")
    """The site whose staff read the alert as well as operators."""
    turn = models.BigIntegerField(null=True)
    """The last turn that it was raised for."""
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, blank=True, db_default="")

    sent_by = ArrayField(models.CharField(max_length=8), db_default=models.Value("{}"))
    """The transports that have sent it: `webhook`, and one for each e-mail address; see `ops.alerts.transports`."""
    send_at = models.DateTimeField(db_default=Now())
    """When it is sent, or tried again, at the earliest."""
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
    """When a job of the worker last ran. Web processes see by this that the worker is away."""

    job = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"round of {self.job}"


class LaneDay(models.Model):
    """The usage of one lane on one day (UTC); see `ops.status.usage`. Holds no personal data."""

    day = models.DateField()
    lane = models.CharField(max_length=64)
    currency = models.CharField(max_length=3, blank=True)
    """Of `cost`; empty while the lane has no price."""
    calls = models.BigIntegerField()
    calls_told = models.BigIntegerField()
    """Calls whose provider reported tokens: `input_tokens`, `output_tokens` and `cost` are of these alone."""
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
    """The findings of a contract check; see `ops.lane_checks.contract`. Holds no reply. The last twenty are kept."""

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
    """Counts of one minute that is over; see `ops.minutes`. Holds no personal data."""

    at = models.DateTimeField(primary_key=True)
    figures = models.JSONField()

    def __str__(self) -> str:
        return f"minute {self.at:%H:%M}"


class SafeguardingHold(models.Model):
    """While it is open, nothing of this participant is erased or deleted by age."""

    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="holds")
    by = models.CharField(max_length=150)
    reason = models.CharField(max_length=200)
    review_by = models.DateField()
    at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant"], condition=Q(ended_at__isnull=True), name="hold_once_while_open"
            ),
            models.CheckConstraint(condition=~Q(by="") & ~Q(reason=""), name="hold_who_and_why"),
        ]
        indexes = [
            models.Index(fields=["review_by"], condition=Q(ended_at__isnull=True), name="hold_by_review")
        ]

    def __str__(self) -> str:
        return f"hold {self.pk}"


class Erasure(models.Model):
    """That a participant was erased, as numbers alone. A restored backup is made to forget the same people again.

    A number may be given again after a restore, so the moment at which the participant was added is part of it.
    """

    id = models.BigAutoField(primary_key=True)
    participant = models.BigIntegerField()
    added_at = models.DateTimeField()
    by = models.CharField(max_length=150)
    at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    """Null while rows are still being deleted: the next run goes on."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "added_at"], name="erasure_once")]

    def __str__(self) -> str:
        return f"erasure {self.pk}"


class StatedReason(models.Model):
    """An operator has said why they must see one conversation, and sees it until `until`. Its site's staff see the row.

    Append-only by use: nothing changes a row.
    """

    id = models.BigAutoField(primary_key=True)
    staff = models.BigIntegerField()
    name = models.CharField(max_length=150)
    conversation = models.BigIntegerField()
    participant = models.BigIntegerField()
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())
    until = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name="") & ~Q(reason=""), name="stated_who_and_why")
        ]
        indexes = [
            models.Index(fields=["staff", "until"], name="stated_by_staff"),
            models.Index(fields=["site", "until"], name="stated_by_site"),
        ]

    def __str__(self) -> str:
        return f"stated reason {self.pk}"


class DeskProcess(models.Model):
    """The staff screens that one web process has open: written every second while it has any.

    A row that was not written lately counts as no screens. No foreign key: it may outlive its process.
    """

    process = models.UUIDField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    sites = ArrayField(models.BigIntegerField(), db_default=models.Value("{}"))
    """Sites whose own staff have a screen open."""
    readers = models.JSONField(db_default=models.Value([], models.JSONField()))
    """[[conversation, user, name]]: who reads along."""

    class Meta:
        indexes = [models.Index(fields=["at"], name="desk_process_by_time")]

    def __str__(self) -> str:
        return f"desk of process {self.process}"


class FlagRing(models.Model):
    """One escalation of a flag that is sent by e-mail and webhook until each recipient has it or it is accepted."""

    id = models.BigAutoField(primary_key=True)
    flag = models.BigIntegerField()
    """No foreign key: flags are deleted by age, by SQL."""
    stage = models.SmallIntegerField()
    """1: the staff of its site; 2: the programme's on-call."""
    at = models.DateTimeField(db_default=Now())
    send_at = models.DateTimeField(db_default=Now())
    """When it is sent, or tried again, at the earliest."""
    sendings = models.IntegerField(db_default=0)
    sent_by = ArrayField(models.CharField(max_length=8), db_default=models.Value("{}"))
    """The transports that have sent it; see `ops.alerts.transports`."""
    done_at = models.DateTimeField(null=True)
    """When the last recipient had it, or nothing was left to ring for."""

    class Meta:
        indexes = [
            models.Index(fields=["send_at"], condition=Q(done_at__isnull=True), name="ring_to_send"),
            models.Index(fields=["flag", "id"], name="ring_by_flag"),
        ]

    def __str__(self) -> str:
        return f"ring {self.pk} of flag {self.flag}"
