"""PURE. What staff read when an act is refused: what happened, and what to do. Each code has one sentence."""

from collections.abc import Mapping
from types import MappingProxyType

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "not_there": "There is nothing with this number at your sites. Look at the list again.",
        "taken": "{name} has taken over already. Ask {name} to hand back first.",
        "not_taken_over": "You have not taken over here, or you have handed back. Your words are still in the box.",
        "too_long": "This is too long: a message has at most 4,000 characters, a note 2,000. Nothing was lost.",
        "empty": "There is nothing to send.",
        "visit_ended": "The visit has ended, so nothing was sent. Your words are still in the box.",
        "not_quiet": "The companion is not quiet here, so there is nothing to release.",
        "reason_missing": "Write why you pause the companion. Colleagues read the reason.",
        "note_missing": "Write a few words about what you found.",
        "paused_already": "{name} has paused it already.",
        "not_paused": "It is not paused.",
        "busy": "Other changes came first. Nothing was changed; press again.",
        "not_accepted": "Accept the flag first.",
        "accepted": "{name} has accepted this flag already.",
        "not_owner": "This flag belongs to {name}. Ask {name} to hand it over to you.",
        "not_handed": "This flag belongs to {name}, and was not handed to you.",
        "closed": "This flag was closed by {name}.",
        "reason_needed": "You do not supervise this site. State a reason to read this one conversation for an hour.",
        "not_allowed": "This takes another role. Ask an operator.",
        "cannot_receive": "This colleague does not see the site of the flag. Choose another person.",
        "too_many": "This page follows as many people as it can. Close one of them first.",
        "too_fast": "That was too much at once. Nothing was changed; wait a moment and press again.",
        "bad_frame": "The page sent something that the service does not understand. Load the page again.",
        "try_again": "The service cannot store this at the moment. Nothing was lost; it is sent again.",
        "search_short": "Write at least two letters.",
        "too_many_screens": "You have too many pages open. Close some of them, and load this one again.",
    }
)


def explain(code: str, name: str = "") -> str:
    """The sentence for a code. `name` is the colleague who has it instead."""
    return SENTENCES.get(code, SENTENCES["bad_frame"]).replace("{name}", name or "A colleague")
