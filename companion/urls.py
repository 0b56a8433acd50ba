"""The participant's pages. The including URLconf passes `context`, a callable that returns a `PageContext`."""

from django.urls import path

from companion import views
from companion.needs.views import needs

urlpatterns = [
    path("", views.home, name="home"),
    path("card/", views.card, name="card"),
    path("card/<str:token>/", views.card_in_address),
    path("chat/", views.chat, name="chat"),
    path("chat/finish/", views.finish, name="finish"),
    path("chat/draft/", views.draft, name="draft"),
    path("chat/turns/", views.turns, name="turns"),
    path("needs/", needs, name="needs"),
    path("help/", views.ask_for_person, name="help"),
    path("closing/", views.finished, name="closing"),
    path("finished/", views.finished, name="finished"),
]
