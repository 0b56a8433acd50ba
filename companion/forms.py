"""The forms for what people type: a card's code, and the address of a site's quick exit."""

from urllib.parse import urlsplit

from django import forms
from django.core.validators import URLValidator


class CodeForm(forms.Form):
    """A card's code with any spaces, hyphens and capitals."""

    code = forms.CharField(max_length=100)


class ExitAddressForm(forms.Form):
    """An https address without a name and password in it; empty: our own plain page."""

    address = forms.CharField(max_length=200, required=False, validators=[URLValidator(schemes=["https"])])

    def clean_address(self) -> str:
        """Refuse what would be sent to the other site with every exit."""
        address = str(self.cleaned_data["address"])
        if "@" in urlsplit(address).netloc:
            raise forms.ValidationError("no name and password in it")
        return address
