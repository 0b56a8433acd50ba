"""The schema of a persona file: the character, his boundaries, and every drafted line."""

import hashlib
import json
from datetime import date
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
Language = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")]
"""A language tag, such as `es` or `pt-BR`."""
Name = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=40)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Lines(_Part):
    """Every drafted line. `break_` is `break` in the file; only the provider reads instructions."""

    # In the character's voice.
    greeting: Text
    goodbye: Text
    queued: Text
    still_here: Text
    try_again: Text
    pause: Text
    i_am_back: Text
    reduced: Text
    stopped: Text
    taken_back: Text
    one_at_a_time: Text
    shortened: Text
    declined: Text
    unanswerable: Text
    kept: Text
    ask_again_later: Text
    ask_again: Text
    let_it_go: Text

    # In the voice of the service, which says it is a computer program where that matters.
    disclosure: Text
    unavailable: Text
    come_back: Text
    reconnecting: Text
    signed_out: Text
    leaving: Text
    not_ended: Text
    still_open: Text
    idle_rule: Text
    idle_warning: Text
    stay: Text
    locking: Text
    not_locked: Text
    locked: Text
    someone_else: Text
    moved: Text
    quick_exit: Text
    exit_note: Text
    go_elsewhere: Text
    empty_page: Text
    break_: Text = Field(alias="break")
    too_long: Text
    nothing_written: Text
    not_understood: Text
    not_allowed: Text
    card_unknown: Text
    cookies_refused: Text
    first_picture: Text
    second_picture: Text
    pictures_wrong: Text
    too_many_tries: Text
    too_many_pages: Text
    machine_waits: Text
    machine_new: Text
    machine_needs_staff: Text
    machine_withdrawn: Text
    is_this_you: Text
    this_is_me: Text
    this_is_not_me: Text
    not_you: Text
    offer_over: Text
    card_elsewhere: Text
    card_needs_machine: Text
    moved_here: Text
    closed: Text
    no_script: Text
    safety_told: Text
    safety_untold: Text
    safety_no_number: Text
    person_joins: Text
    person_leaves: Text
    person_lost: Text
    person_writing: Text
    talk_to_a_person: Text
    make_easier: Text
    help_told: Text
    help_untold: Text
    help_no_number: Text
    help_told_outside: Text
    help_untold_outside: Text
    help_no_number_outside: Text
    or_text: Text
    help_not_sent: Text
    held_quiet: Text
    staff_pause_person: Text
    staff_pause_site: Text
    staff_pause_over: Text
    asked_if_person: Text
    reading_along: Text
    talk_to_staff: Text
    works_here: Text
    writing_to_person: Text
    writing_to_staff: Text
    writing_while_paused: Text

    # Never shown: each stands in the prompt, or precedes a part of it.
    instruction_language: Text
    instruction_held: Text
    instruction_care: Text
    instruction_person: Text
    instruction_easy: Text

    def shown(self) -> dict[str, str]:
        """Return the lines that participants read, by their key in the file: all but the instructions."""
        lines = self.model_dump(by_alias=True)
        return {key: line for key, line in lines.items() if not key.startswith("instruction_")}


class ChoiceLines(_Part):
    """The words of the page on which participants choose what they need, and of what it changes in the chat."""

    intro: Text
    come_in: Text
    changed: Text
    whole_too: Text
    change_back: Text
    changed_back: Text
    not_changed: Text
    to_chat: Text
    chosen: Text
    sample_title: Text
    sample: Text
    show_again: Text

    type: Text
    type_usual: Text
    type_bigger: Text
    type_big: Text
    type_biggest: Text
    contrast: Text
    contrast_usual: Text
    contrast_strong: Text
    words: Text
    words_written: Text
    words_slow: Text
    words_whole: Text
    aloud: Text
    aloud_off: Text
    aloud_button: Text
    aloud_each: Text
    aloud_next: Text
    aloud_next_new: Text
    aloud_next_end: Text
    no_voice: Text
    easy: Text
    easy_usual: Text
    easy_short: Text
    time: Text
    time_usual: Text
    time_double: Text
    time_five: Text
    time_ten: Text
    language: Text
    language_en: Text
    language_es: Text

    read_aloud: Text
    stop_reading: Text
    show_all: Text

    def shown(self) -> dict[str, str]:
        """Return all of them by their key in the file."""
        return self.model_dump()


class Persona(_Part):
    """One validated character. Two files with the same content have the same `version`."""

    name: Name
    language: Language
    also_in: tuple[Language, ...] = ()
    """Other languages of the same character. Each has a whole file of its own beside this one."""
    owner: Text
    approver: Text
    approved_on: date | None = None
    """The day on which the approver approved the file for real use; None: not approved."""
    review_by: date
    voice: Text
    boundaries: tuple[Text, ...] = Field(min_length=1)
    lines: Lines
    choices: ChoiceLines

    @cached_property
    def version(self) -> str:
        """First 16 hex digits of the SHA-256 of the content; comments, order and spacing do not change it."""
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def system_prompt(persona: Persona) -> str:
    """Return the system prompt for the character. It contains no drafted line."""
    boundaries = "\n".join(f"- {boundary}" for boundary in persona.boundaries)
    language = persona.lines.instruction_language
    # The frame is English in every language: it is for the provider, and the last sentence names the language.
    return f"You are {persona.name}.\n\n{persona.voice}\n\nBoundaries you always keep:\n{boundaries}\n\n{language}"
