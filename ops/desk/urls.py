"""The staff's pages, under /ops/. The first of them needs the figures, so `ops.project.urls` places it."""

from django.urls import path

from ops.desk import views

urlpatterns = [
    path("turns/", views.turns, name="staff_turns"),
    path("turns/<int:turn>/", views.turn, name="staff_turn"),
    path("turns/<int:turn>/words/", views.words, name="staff_turn_words"),
]
