"""PURE. What staff read when an act is refused: what happened, and what to do. Each code has one sentence."""

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.translation import gettext

from ops.catalogue_marks import gettext_noop

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "not_there": gettext_noop("There is nothing with this number at your sites. Look at the list again."),
        "taken": gettext_noop("{name} has taken over already. Ask {name} to hand back first."),
        "not_taken_over": gettext_noop(
            "You have not taken over here, or you have handed back. Your words are still in the box."
        ),
        "too_long": gettext_noop(
            "This is too long: a message has at most 4,000 characters, a note 2,000. Nothing was lost."
        ),
        "empty": gettext_noop("There is nothing to send."),
        "visit_ended": gettext_noop(
            "The visit has ended, so nothing was sent. Your words are still in the box."
        ),
        "not_quiet": gettext_noop("The companion is not quiet here, so there is nothing to release."),
        "reason_missing": gettext_noop("Write why you pause the companion. Colleagues read the reason."),
        "note_missing": gettext_noop("Write a few words about what you found."),
        "paused_already": gettext_noop("{name} has paused it already."),
        "not_paused": gettext_noop("It is not paused."),
        "busy": gettext_noop("Other changes came first. Nothing was changed; press again."),
        "not_accepted": gettext_noop("Accept the flag first."),
        "accepted": gettext_noop("{name} has accepted this flag already."),
        "not_owner": gettext_noop("This flag belongs to {name}. Ask {name} to hand it over to you."),
        "not_handed": gettext_noop("This flag belongs to {name}, and was not handed to you."),
        "closed": gettext_noop("This flag was closed by {name}."),
        "reason_needed": gettext_noop(
            "You do not supervise this site. State a reason to read this one conversation for an hour."
        ),
        "not_allowed": gettext_noop("This takes another role. Ask an operator."),
        "cannot_receive": gettext_noop(
            "This colleague does not see the site of the flag. Choose another person."
        ),
        "too_many": gettext_noop("This page follows as many people as it can. Close one of them first."),
        "too_fast": gettext_noop(
            "That was too much at once. Nothing was changed; wait a moment and press again."
        ),
        "bad_frame": gettext_noop(
            "The page sent something that the service does not understand. Load the page again."
        ),
        "try_again": gettext_noop(
            "The service cannot store this at the moment. Nothing was lost; it is sent again."
        ),
        "search_short": gettext_noop("Write at least two letters."),
        "too_many_screens": gettext_noop(
            "You have too many pages open. Close some of them, and load this one again."
        ),
    }
)


def explain(code: str, name: str = "") -> str:
    """The sentence for a code. `name` is the colleague who has it instead."""
    sentence = gettext(SENTENCES.get(code, SENTENCES["bad_frame"]))
    return sentence.replace("{name}", name or gettext("A colleague"))
