"""Draws a whole run from its seed: the same seed and size give the same plan. PURE."""

import random
from collections.abc import Iterator

from ops.ordeal.plan.faults import draw_faults
from ops.ordeal.plan.steps import (
    OrdealPlan,
    OrdealSize,
    PersonAct,
    PersonScript,
    PersonStep,
    StaffAct,
    StaffScript,
    StaffStep,
)

BIRDS = (
    "kestrel",
    "heron",
    "wren",
    "plover",
    "siskin",
    "dunlin",
    "godwit",
    "linnet",
    "martin",
    "osprey",
    "petrel",
    "redwing",
    "sanderling",
    "teal",
    "whinchat",
    "avocet",
    "bittern",
    "curlew",
    "dotterel",
    "fieldfare",
)
STAFF_NAMES = ("Sam", "Ines", "Mira", "Noor", "Olu", "Pia")
TYPICAL_STEP_S = 5.0
CONTESTED = 2
"""People whom staff take over."""
_PERSON_WEIGHTS = {
    PersonAct.WRITE: 6,
    PersonAct.WRITE_TWICE: 3,
    PersonAct.WRITE_TWO_AT_ONCE: 3,
    PersonAct.PRESS_TWICE: 2,
    PersonAct.STOP: 2,
    PersonAct.DROP: 3,
    PersonAct.MOVE: 1,
    PersonAct.READ_SLOWLY: 2,
    PersonAct.FREEZE: 2,
    PersonAct.SECOND_TAB: 2,
    PersonAct.SIGN_OUT: 1,
    PersonAct.WORRY: 1,
    PersonAct.ASK_FOR_PERSON: 1,
    PersonAct.REST: 1,
}
_STAFF_WEIGHTS = {
    StaffAct.READ_ALONG: 4,
    StaffAct.ACCEPT: 3,
    StaffAct.CLOSE: 2,
    StaffAct.TAKE_OVER: 4,
    StaffAct.PAUSE: 3,
    StaffAct.END_VISIT: 1,
    StaffAct.REOPEN_SCREEN: 1,
    StaffAct.REST: 1,
}


def draw_plan(seed: int, size: OrdealSize) -> OrdealPlan:
    """The plan of one run."""
    chance = random.Random(seed)
    birds = chance.sample(BIRDS, min(size.people, len(BIRDS)))
    people = tuple(
        PersonScript(
            name=f"{birds[place % len(birds)].capitalize()} {place + 1}",
            code=f"{birds[place % len(birds)]}-{place + 1}",
            process=chance.randint(1, size.processes),
            steps=tuple(_person_steps(chance, size)),
        )
        for place in range(size.people)
    )
    staff = tuple(
        StaffScript(
            name=f"{STAFF_NAMES[place % len(STAFF_NAMES)]}-{place + 1}".lower(),
            process=chance.randint(1, size.processes),
            steps=tuple(_staff_steps(chance, size)),
        )
        for place in range(size.staff)
    )
    return OrdealPlan(
        seed=seed, size=size, people=people, staff=staff, faults=tuple(draw_faults(chance, size))
    )


def _person_steps(chance: random.Random, size: OrdealSize) -> Iterator[PersonStep]:
    """More steps than there is time for: faults make some of them short."""
    yield PersonStep(pause_s=round(chance.uniform(0, 1.5), 3), act=PersonAct.WRITE)
    acts, weights = list(_PERSON_WEIGHTS), list(_PERSON_WEIGHTS.values())
    for _ in range(int(size.lasts_s / TYPICAL_STEP_S * 3)):
        [act] = chance.choices(acts, weights)
        yield PersonStep(
            pause_s=round(chance.uniform(0, 1.2), 3),
            act=act,
            takes_s=round(
                chance.uniform(0.1, 3.0) if act is not PersonAct.FREEZE else chance.uniform(2, 14), 3
            ),
            how=chance.choice(("red", "amber")) if act is PersonAct.WORRY else "",
        )


def _choose_person(chance: random.Random, act: StaffAct, size: OrdealSize) -> int:
    """The place of the person that an act is about. Take-overs are of the same few: staff get in each other's way."""
    among = min(CONTESTED, size.people) if act is StaffAct.TAKE_OVER else size.people
    return chance.randrange(among)


def _staff_steps(chance: random.Random, size: OrdealSize) -> Iterator[StaffStep]:
    acts, weights = list(_STAFF_WEIGHTS), list(_STAFF_WEIGHTS.values())
    for _ in range(int(size.lasts_s / TYPICAL_STEP_S * 3)):
        [act] = chance.choices(acts, weights)
        yield StaffStep(
            pause_s=round(chance.uniform(0.2, 2), 3),
            act=act,
            about=_choose_person(chance, act, size),
            # A pause that is over before everyone knows of it proves nothing.
            takes_s=round(chance.uniform(5, 10) if act is StaffAct.PAUSE else chance.uniform(1, 5), 3),
            words=chance.randint(1, 3),
        )
