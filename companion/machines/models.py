"""The tables of shared machines. Only `companion.machines` writes them. Staff are named: a row outlives an account."""

import uuid
from enum import StrEnum

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now


class VisitWay(StrEnum):
    """How a visit was opened."""

    STAFF = "staff"
    """Staff opened it on a machine, and the person said that it is they."""
    LINK = "link"
    """The link of a card, and its two pictures."""
    CODE = "code"
    """The code of a card, typed."""


class OfferAnswer(StrEnum):
    """How an offer ended."""

    YES = "yes"
    NO = "no"
    TAKEN_BACK = "taken_back"
    """By staff, or by another offer on the same machine."""
    EXPIRED = "expired"
    GONE = "gone"
    """The machine or the participant may not open a visit any more."""


class Machine(models.Model):
    """A shared machine of a site. Its cookie names it and opens nothing by itself.

    The cookie's value changes with each contact. Only the newest value and the one before are good: another one with
    our signature is an older copy, so the cookie stands in two browsers.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("companion.Site", on_delete=models.PROTECT, related_name="machines")
    name = models.CharField(max_length=60)
    token_hash = models.CharField(max_length=64, blank=True, db_default="")
    """SHA-256 of the newest value, in hexadecimal; empty: the machine has to be paired."""
    former_hash = models.CharField(max_length=64, blank=True, db_default="")
    """Of the value before: its browser may have lost the answer with the newest one."""
    rotated_at = models.DateTimeField(null=True)
    paired_at = models.DateTimeField(db_default=Now())
    paired_by = models.CharField(max_length=150)
    copied_at = models.DateTimeField(null=True)
    """When an older value was used: the machine opens no visit until it is paired again."""
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.CharField(max_length=150, blank=True, db_default="")
    seen_at = models.DateTimeField(null=True)
    """When its waiting page was last open, written at most once a minute."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "site",
                Lower("name"),
                condition=Q(withdrawn_at__isnull=True),
                name="machine_once_per_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PairingCode(models.Model):
    """A short code that makes a browser a machine of a site, for ten minutes and once.

    The browser shows it and staff enter it, or a command prints it and staff type it in the browser. Rows that are
    over are deleted whenever one is added.
    """

    id = models.BigAutoField(primary_key=True)
    code_hash = models.CharField(max_length=64, unique=True)
    claim_hash = models.CharField(max_length=64, blank=True, db_default="", db_index=True)
    """SHA-256 of what the browser that shows the code keeps in a cookie; empty for a code that a command printed."""
    network_hash = models.CharField(max_length=64, blank=True, db_default="")
    """Of the network of the browser that shows the code: codes are limited for each; empty for a printed one."""
    machine = models.ForeignKey(Machine, null=True, on_delete=models.CASCADE, related_name="+")
    """The machine that the browser becomes; null until staff have entered the code."""
    made_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"pairing code {self.pk}"


class VisitOffer(models.Model):
    """Staff have offered a visit on a machine; its page asks the person whether it is they."""

    id = models.BigAutoField(primary_key=True)
    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, db_index=False, related_name="offers")
    participant = models.ForeignKey("companion.Participant", on_delete=models.CASCADE, related_name="offers")
    by = models.BigIntegerField()
    """The id of the member of staff."""
    by_name = models.CharField(max_length=150)
    offered_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=12, blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["machine"], condition=Q(answered_at__isnull=True), name="offer_once_per_machine"
            ),
            models.CheckConstraint(condition=Q(answer__in=["", *OfferAnswer]), name="offer_known_answer"),
            models.CheckConstraint(
                condition=Q(answer="", answered_at__isnull=True)
                | Q(answered_at__isnull=False) & ~Q(answer=""),
                name="offer_answered_whole",
            ),
        ]
        indexes = [
            # Each read takes the newest offers of a machine.
            models.Index(fields=["machine", "-id"], name="offer_by_machine"),
        ]

    def __str__(self) -> str:
        return f"offer {self.pk}"
