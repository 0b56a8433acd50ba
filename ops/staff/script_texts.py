"""The texts that scripts of staff pages show: the page hands them over, as one object, where `texts.js` reads them."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from django.utils.translation import gettext, ngettext

from ops.catalogue_marks import gettext_noop

TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "age_s": gettext_noop("{count} s"),
        "age_min": gettext_noop("{count} min"),
        "age_h": gettext_noop("{hours} h {minutes} min"),
        "age_days": gettext_noop("{count} days"),
        "for_age": gettext_noop("for {age}"),
        "age_ago": gettext_noop("{age} ago"),
        "sound_silent": gettext_noop("This screen is silent."),
        "sound_blocked": gettext_noop(
            "This screen cannot sound until you press the button, or has no sound."
        ),
        "sound_on": gettext_noop("The sound is on."),
        "sound_away": gettext_noop("This screen is not connected: it cannot ring. It keeps trying."),
        "fold_away": gettext_noop("not connected"),
        "fold_silent": gettext_noop("silent"),
        "fold_accepted": gettext_noop("Flags accepted"),
        "fold_some_red": gettext_noop("{count} flags, {red} red"),
        "title_rings": gettext_noop("({count}) RINGS – {title}"),
        "title_flag": gettext_noop("({count}) Flag – {title}"),
        "staff": gettext_noop("Staff"),
        "earlier_unread": gettext_noop("What was before could not be read. Try again."),
        "taken_over_away": gettext_noop(
            "You have taken over. {name} has no page open, and reads it when they come back."
        ),
        "taken_over_here": gettext_noop("You have taken over. {name} reads what you write."),
        "taken_over_by": gettext_noop("{name} has taken over."),
        "quiet": gettext_noop("{character} is quiet. Take over, or let {character} speak again."),
        "paused": gettext_noop("{character} is paused."),
        "doing_locked": gettext_noop("{doing}, and the screen is locked"),
        "writing": gettext_noop("{name} is writing."),
        "figures_old": gettext_noop(
            "These figures are old: they are of {at}. Newer ones do not come. This page keeps trying."
        ),
        "figures_live": gettext_noop("The figures are live again."),
        "figures_change": gettext_noop("They change by themselves."),
        "ceiling": gettext_noop("ceiling {count}"),
        "not_connected": gettext_noop(
            "Not connected: nothing was done. Press again once this page is connected."
        ),
        "no_answer": gettext_noop("No answer came. Look what happened before you press again."),
        "frame_too_long": gettext_noop("The text is too long."),
        "flag_closed": gettext_noop("Closed."),
        "note_kept": gettext_noop("The note is kept."),
        "a_person": gettext_noop("A person"),
        "a_colleague": gettext_noop("a colleague"),
        "times": gettext_noop(", {count} times"),
        "accepted_by": gettext_noop("Accepted by {owner}"),
        "accepted_handed": gettext_noop("Accepted by {owner}, handed to {other}"),
        "has_left": gettext_noop("Has left"),
        "person_number": gettext_noop("Person {number}"),
        "screen_locked": gettext_noop(", screen locked"),
        "no_page": gettext_noop(", no page open"),
        "flag_red": gettext_noop("Red flag"),
        "flag_amber": gettext_noop("Amber flag"),
        "nothing_yet": gettext_noop("nothing yet"),
        "page_kept": gettext_noop("This page keeps itself up to date."),
        "flag_yours": gettext_noop("It is yours."),
        "flag_yours_now": gettext_noop("It is yours now."),
        "resumed": gettext_noop("Resumed."),
        "handed": gettext_noop("Handed to {name}. It stays yours until {name} takes it on."),
        "words_long": gettext_noop(
            "This is too long: a message has at most 4,000 characters. Nothing was lost."
        ),
        "words_empty": gettext_noop("There is nothing to send."),
        "words_away": gettext_noop(
            "Not connected. Your words stay here, and are sent once this page is connected."
        ),
        "words_unsent": gettext_noop(
            "There are words in the box that were not sent. Send or delete them first."
        ),
        "visit_on": gettext_noop("on {machine}"),
        "visit_on_by": gettext_noop("on {machine}, let in by {by}"),
        "visit_by": gettext_noop(", let in by {by}"),
        "stands_open": gettext_noop("Not accepted yet."),
        "stands_accepted": gettext_noop("Accepted by {owner}."),
        "stands_handed": gettext_noop("Accepted by {owner}, handed to {other} and not taken on yet."),
        "stands_closed": gettext_noop("Closed: {outcome}. It was {owner}'s."),
        "reads_along": gettext_noop("This page reads along by itself."),
    }
)
"""By the key that a script names. `{…}` are places that the script fills."""


def write_script_texts() -> str:
    """The texts in the language of the page, as JSON.

    A text with forms is {one, other}: the names that `Intl.PluralRules` gives them.
    """
    forms = {
        "fold_flags": _forms(lambda count: ngettext("{count} flag", "{count} flags", count)),
        "fold_all_red": _forms(lambda count: ngettext("{count} flag, red", "{count} flags, all red", count)),
        "reading": _forms(lambda count: ngettext("· {names} reads along", "· {names} read along", count)),
    }
    return json.dumps({**{key: gettext(says) for key, says in TEXTS.items()}, **forms})


def _forms(choose: Callable[[int], str]) -> dict[str, str]:
    # Every language of the settings has two forms. One with more needs a number for each.
    return {"one": choose(1), "other": choose(2)}
