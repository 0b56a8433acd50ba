"""Every state of every page keeps every rule of access, and the report says so (A3)."""

import pytest
from playwright.async_api import Browser

from tests.pages.access.checks import DESKTOP, LOOKS, PHONE, Scene, check, look
from tests.pages.access.conftest import PARTICIPANTS, STAFF
from tests.pages.access.report import Report
from tests.pages.access.staff_states import STAFF_STATES, StaffStage, StaffState
from tests.pages.access.stage import Stage, State, name_state
from tests.pages.access.states import STATES
from tests.pages.conftest import OpenRoom
from tests.pages.staff_screens import OpenDesk
from tests.people import People
from tests.processes import Web

every_state = pytest.mark.parametrize("state", STATES, ids=name_state)
every_staff_state = pytest.mark.parametrize("state", STAFF_STATES, ids=name_state)


@pytest.fixture
def stage(open_room: OpenRoom, people: People) -> Stage:
    return Stage(open_room=open_room, people=people)


@pytest.fixture
def staff_stage(
    browser: Browser, open_desk: OpenDesk, open_room: OpenRoom, people: People, service: Web
) -> StaffStage:
    return StaffStage(
        browser=browser, open_desk=open_desk, open_room=open_room, people=people, service=service
    )


async def check_and_report(report: Report, part: str, state: str, scene: Scene) -> None:
    """Run every check, record what each came to, and fail where one of them did."""
    pictures = {}
    for name, size in {"phone": PHONE, "desktop": DESKTOP}.items():
        await scene.page.set_viewport_size(size)
        pictures[name] = await scene.page.screenshot()
    faults = await check(scene)
    report.add(state, part, faults, pictures)
    assert {name: found for name, found in faults.items() if found} == {}


@every_state
async def test_a_state_of_a_participants_page_keeps_every_rule(
    stage: Stage, report: Report, state: State
) -> None:
    await check_and_report(report, PARTICIPANTS, name_state(state), await state(stage))


@every_staff_state
async def test_a_state_of_a_page_for_staff_keeps_every_rule(
    staff_stage: StaffStage, report: Report, state: StaffState
) -> None:
    await check_and_report(report, STAFF, name_state(state), await state(staff_stage))


async def look_and_report(report: Report, part: str, state: str, scene: Scene) -> None:
    faults, pictures = {}, {}
    for as_seen in LOOKS:
        faults[as_seen.name] = await look(scene, as_seen)
        pictures[as_seen.name] = await scene.page.screenshot()
    report.add(state, f"{part}, every look", faults, pictures)
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.long
@every_state
async def test_a_state_of_a_participants_page_keeps_every_rule_in_every_look(
    stage: Stage, report: Report, state: State
) -> None:
    await look_and_report(report, PARTICIPANTS, name_state(state), await state(stage))


@pytest.mark.long
@every_staff_state
async def test_a_state_of_a_page_for_staff_keeps_every_rule_in_every_look(
    staff_stage: StaffStage, report: Report, state: StaffState
) -> None:
    await look_and_report(report, STAFF, name_state(state), await state(staff_stage))
