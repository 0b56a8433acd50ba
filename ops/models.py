"""What running the service keeps: who may see which site, and who read what."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from companion.models import Site


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
