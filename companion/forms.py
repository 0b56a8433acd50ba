"""What a participant types outside the chat: the code from a card."""

from django import forms


class CodeForm(forms.Form):
    """A card's code. Spaces, hyphens and capitals are as they come."""

    code = forms.CharField(max_length=100)
