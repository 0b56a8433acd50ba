"""The staff's pages, under /ops/. The first of them needs the figures, so `ops.project.urls` places it."""

from django.urls import path

from ops.staff import turn_pages

urlpatterns = [
    path("turns/", turn_pages.turns, name="staff_turns"),
    path("turns/<int:turn>/", turn_pages.turn, name="staff_turn"),
    path("turns/<int:turn>/words/", turn_pages.words, name="staff_turn_words"),
]
