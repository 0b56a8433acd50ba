"""The addresses of the staff's pages and sockets. `ops.project` passes in what they are served from."""

from collections.abc import Callable

from django.conf import settings
from django.urls import URLPattern, path

from companion.throttle import SignInThrottle
from ops.selections.selector import Selector
from ops.staff import (
    account_page,
    bell,
    cards_page,
    conversation_page,
    dashboard_page,
    flag_times_page,
    machines_page,
    needs_page,
    offers_page,
    people_page,
    record_page,
    routing_page,
    shift_page,
    turn_pages,
)
from ops.staff.consumers import StaffConsumer
from ops.staff.desk_consumer import DeskConsumer
from ops.staff.second_step import SecondStep
from ops.staff.sign_in import SignIn
from ops.staff.sign_out import SignOut
from ops.status.figures import StatusSettings
from ops.status.live import LiveStatus
from ops.supervision.acting import DeskActs
from ops.supervision.desk import LiveDesk
from routing.lanes import Routing


def build_urlpatterns(
    *,
    status_settings: Callable[[], StatusSettings],
    routing: Callable[[], Routing],
    selector: Callable[[], Selector],
    throttle: Callable[[], SignInThrottle],
) -> list[URLPattern]:
    """Every page for staff. The arguments are called when a page is served."""
    routes = {"routing": routing, "selector": selector}
    return [
        path("ops/", dashboard_page.dashboard, {"status_settings": status_settings}, name="staff_dashboard"),
        path("ops/alerts/<int:alert>/seen/", dashboard_page.acknowledge_alert, name="staff_alert_seen"),
        path("ops/people/", people_page.people, name="staff_people"),
        path("ops/people/<int:conversation>/", conversation_page.conversation, name="staff_conversation"),
        path(
            "ops/people/<int:conversation>/items/", conversation_page.items, name="staff_conversation_items"
        ),
        path("ops/people/<int:conversation>/needs/", needs_page.needs, name="staff_needs"),
        path("ops/needs/", needs_page.reviews, name="staff_needs_reviews"),
        path(
            "ops/people/<int:conversation>/open/", offers_page.open_for_person, name="staff_open_for_person"
        ),
        path("ops/cards/", cards_page.cards, name="staff_cards"),
        path("ops/cards/sheet/", cards_page.sheet, name="staff_card_sheet"),
        path("ops/machines/", machines_page.machines, {"throttle": throttle}, name="staff_machines"),
        path("ops/machines/<uuid:machine>/", machines_page.machine, name="staff_machine"),
        path("ops/machines/<uuid:machine>/name/", machines_page.rename, name="staff_machine_name"),
        path("ops/machines/<uuid:machine>/withdraw/", machines_page.withdraw, name="staff_machine_withdraw"),
        path("ops/machines/<uuid:machine>/open/", offers_page.open_on_machine, name="staff_open_on_machine"),
        path("ops/offers/<int:offer>/back/", offers_page.take_offer_back, name="staff_offer_back"),
        path(
            "ops/people/<int:conversation>/print/",
            conversation_page.transcript,
            name="staff_conversation_print",
        ),
        path("ops/shift/", shift_page.shift, name="staff_shift"),
        path("ops/shift/times/", flag_times_page.flag_times, name="staff_flag_times"),
        path("ops/sound/", bell.sound, name="staff_sound"),
        path("ops/record/", record_page.record, name="staff_record"),
        path("ops/turns/", turn_pages.turns, name="staff_turns"),
        path("ops/turns/<int:turn>/", turn_pages.turn, name="staff_turn"),
        path("ops/turns/<int:turn>/words/", turn_pages.words, name="staff_turn_words"),
        path("ops/routing/", routing_page.lanes, {"routing": routing}, name="staff_routing"),
        path("ops/routing/select/", routing_page.select, routes, name="staff_routing_select"),
        path("ops/routing/revert/", routing_page.revert, routes, name="staff_routing_revert"),
        *_build_account_patterns(throttle),
    ]


def _build_account_patterns(throttle: Callable[[], SignInThrottle]) -> list[URLPattern]:
    """Signing in and out, and the page of one's own account."""
    by_provider: list[URLPattern] = []
    if settings.STAFF_OIDC_ISSUER:
        # Here, because most services have no provider, and its library brings a client of its own.
        from ops.staff.provider_sign_in import AskProvider, ProviderAnswers

        by_provider = [
            path("staff/provider/", AskProvider.as_view(throttle=throttle), name="staff_provider"),
            path("staff/provider/answer/", ProviderAnswers.as_view(), name="staff_provider_callback"),
        ]
    return [
        *by_provider,
        path("staff/sign-in/", SignIn.as_view(throttle=throttle), name="staff_sign_in"),
        path("staff/sign-in/code/", SecondStep.as_view(throttle=throttle), name="staff_second_step"),
        path("ops/account/", account_page.account, name="staff_account"),
        path(
            "ops/account/password/",
            account_page.change_password,
            {"throttle": throttle},
            name="staff_account_password",
        ),
        path(
            "ops/account/second-factor/",
            account_page.set_up_second_factor,
            name="staff_account_second_factor",
        ),
        path(
            "ops/account/second-factor/off/",
            account_page.turn_off_second_factor,
            name="staff_account_second_factor_off",
        ),
        path("staff/sign-out/", SignOut.as_view(), name="staff_sign_out"),
    ]


def build_socket_patterns(
    *,
    live: Callable[[], LiveStatus],
    desk: Callable[[], tuple[LiveDesk, DeskActs]],
    cookie_name: str,
) -> list[URLPattern]:
    """The dashboard's socket, the one of every page for staff, and the one of the desk."""
    shared = {"live": live, "cookie_name": cookie_name}
    return [
        path("ws/staff/", DeskConsumer.as_asgi(desk=desk, cookie_name=cookie_name)),
        path("ws/ops/", StaffConsumer.as_asgi(**shared, wants_figures=True)),
        path("ws/ops/page/", StaffConsumer.as_asgi(**shared, wants_figures=False)),
    ]
