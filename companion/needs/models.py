"""The table of needs. Only `needs.store` writes it."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

TYPE_PERCENTS = (100, 125, 150, 200)
CONTRASTS = ("normal", "strong")
PACES = ("normal", "slow")
READ_ALOUD = ("off", "button", "each")
"""Nothing; a button on each message; each new message as well."""
MIN_IDLE_FACTOR, MAX_IDLE_FACTOR = 1, 10


class Needs(models.Model):
    """What one participant needs of every page. No row: nothing is recorded, and every default is in force."""

    participant = models.OneToOneField(
        "companion.Participant", on_delete=models.CASCADE, primary_key=True, related_name="needs"
    )
    type_percent = models.PositiveSmallIntegerField(db_default=100)
    """The size of letters, in percent of the usual one."""
    contrast = models.CharField(max_length=8, db_default="normal")
    whole_messages = models.BooleanField(db_default=True)
    """Whether a reply is shown when it is complete, and not while it comes."""
    pace = models.CharField(max_length=8, db_default="normal")
    idle_factor = models.PositiveSmallIntegerField(
        db_default=1, validators=[MinValueValidator(MIN_IDLE_FACTOR), MaxValueValidator(MAX_IDLE_FACTOR)]
    )
    """How many times as long as the site's idle time this participant has."""
    read_aloud = models.CharField(max_length=8, db_default="off")
    reads_newest = models.BooleanField(db_default=True)
    """Whether a new message stops the one that is read aloud; otherwise that one is read to its end."""
    easy_words = models.BooleanField(db_default=False)
    language = models.CharField(max_length=16, blank=True, db_default="")
    """A language tag; empty: the language of the site."""
    review_by = models.DateField()
    """When staff look at it again with the participant. An overdue review changes nothing on the pages."""
    set_by = models.CharField(max_length=100, blank=True, db_default="")
    """The user name of the member of staff who changed it last; empty: the participant."""
    set_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    type_percent__in=TYPE_PERCENTS,
                    contrast__in=CONTRASTS,
                    pace__in=PACES,
                    read_aloud__in=READ_ALOUD,
                    idle_factor__range=(MIN_IDLE_FACTOR, MAX_IDLE_FACTOR),
                ),
                name="needs_known_choices",
            )
        ]
        # Serves the list of overdue reviews.
        indexes = [models.Index(fields=["review_by"], name="needs_by_review")]

    def __str__(self) -> str:
        return f"needs of participant {self.participant_id}"
