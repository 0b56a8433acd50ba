"""The table of visits. Only `companion.visits` writes it."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from companion.machines.models import Machine, VisitWay
from companion.visits.ends import EndReason


class Visit(models.Model):
    """One signed-in session of a participant in one browser."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    participant = models.ForeignKey("companion.Participant", on_delete=models.CASCADE, related_name="visits")
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
    """Wrong choices of pictures on its locked page. They count for the machine: see `coming_back`."""

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
            # Bounds the count of wrong pictures on a machine.
            models.Index(
                fields=["machine", "expires_at"],
                condition=Q(unlock_misses__gt=0, machine__isnull=False),
                name="visit_with_misses",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
