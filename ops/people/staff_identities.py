"""Which account of the identity provider belongs to which member of staff: bound at the first sign-in, by name once.

A provider's names may change hands; its subjects never do. So a name is looked at once, and on record.
"""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from ops import audit
from ops.models import StaffIdentity


def find_by_identity(*, issuer: str, subject: str, name: str) -> User | None:
    """The active member of staff whom this account of the provider belongs to. Binds the account that has no owner yet
    to the member of this username who has none either. None: an operator adds them first."""
    bound = StaffIdentity.objects.select_related("user").filter(issuer=issuer, subject=subject).first()
    if bound is not None:
        return bound.user if bound.user.is_active and bound.user.is_staff else None
    try:
        return _bind(issuer=issuer, subject=subject, name=name)
    except IntegrityError:
        # Another request has bound one of the two at this moment; the next sign-in finds it.
        return None


def forget_identity(user: User) -> bool:
    """Let another account of the provider be bound to this member. Returns whether there was one."""
    gone, _ = StaffIdentity.objects.filter(user=user).delete()
    return bool(gone)


@transaction.atomic
def _bind(*, issuer: str, subject: str, name: str) -> User | None:
    user = (
        User.objects.select_for_update(no_key=True, of=("self",))
        .filter(username=name, is_active=True, is_staff=True, identity__isnull=True)
        .first()
    )
    if user is None:
        return None
    StaffIdentity.objects.create(user=user, issuer=issuer, subject=subject)
    audit.record(audit.BOUND_IDENTITY, who=user.get_username(), note=f"staff {user.pk}")
    return user
