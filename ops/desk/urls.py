"""The staff's pages. Whoever includes them passes `facts`, a callable that gives the `Settings` of the figures."""

from django.urls import path

from ops.desk import views

urlpatterns = [
    path("turns/", views.turns, name="staff_turns"),
    path("turns/<int:turn>/", views.turn, name="staff_turn"),
]
