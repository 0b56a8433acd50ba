"""Texts of staff pages that templates name by a value, so that the catalogue has them."""

from ops.catalogue_marks import gettext_noop

TURN_STATES = (
    gettext_noop("waiting"),
    gettext_noop("speaking"),
    gettext_noop("complete"),
    gettext_noop("stopped"),
    gettext_noop("refused"),
    gettext_noop("handed_over"),
    gettext_noop("safety"),
)
"""The states of turns, apart from paused ones, which have words of their own: `templates/ops/_state.html`."""
BREAKER_STATES = (gettext_noop("closed"), gettext_noop("open"), gettext_noop("resting"))
"""The states of lanes, as the lanes page names them: `templates/ops/routing.html`."""
FLAG_STEPS = (gettext_noop("accepted"), gettext_noop("closed"))
"""The steps of flags that `templates/ops/flag_times.html` names."""
