"""The form for a card's code."""

from django import forms


class CodeForm(forms.Form):
    """A card's code with any spaces, hyphens and capitals."""

    code = forms.CharField(max_length=100)
