"""The participant's pages. The including URLconf passes `context`, a callable that returns a `PageContext`."""

from django.urls import path

from companion import views
from companion.machines import views as machine_views
from companion.needs.views import needs
from companion.visits import pages

urlpatterns = [
    path("", views.home, name="home"),
    path("card/", views.card, name="card"),
    path("card/<str:token>/", views.card_in_address),
    path("chat/", views.chat, name="chat"),
    path("chat/finish/", views.finish, name="finish"),
    path("chat/draft/", views.draft, name="draft"),
    path("chat/turns/", views.turns, name="turns"),
    path("needs/", needs, name="needs"),
    path("machine/", machine_views.machine, name="machine"),
    path("machine/answer/", machine_views.answer, name="machine_answer"),
    path("machine/claim/", machine_views.claim, name="machine_claim"),
    path("machine/code/", machine_views.code, name="machine_code"),
    path("chat/lock/", pages.lock, name="lock"),
    path("chat/exit/", pages.quick_exit, name="quick_exit"),
    path("locked/", pages.locked, name="locked"),
    path("locked/someone-else/", pages.someone_else, name="someone_else"),
    path("empty/", pages.empty_page, name="empty_page"),
    path("help/", views.ask_for_person, name="help"),
    path("closing/", views.finished, name="closing"),
    path("finished/", views.finished, name="finished"),
]
