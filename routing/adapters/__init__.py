"""One adapter per provider wire, by the name a lane gives it in the routing file."""

from collections.abc import Mapping

import httpx

from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Adapter


def build_adapters(client: httpx.AsyncClient) -> Mapping[str, Adapter]:
    """All adapters over one client, which belongs to one event loop."""
    return {"openai": OpenAIAdapter(client)}
