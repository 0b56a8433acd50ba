"""One adapter per provider wire, by the name a lane gives it in the routing file."""

from collections.abc import Mapping

import httpx

from routing.adapters.anthropic import AnthropicAdapter
from routing.adapters.openai import OpenAIAdapter
from routing.contracts import Adapter


def build_adapters(client: httpx.AsyncClient, *, gather_s: float = 0.0) -> Mapping[str, Adapter]:
    """All adapters over one client, which belongs to one event loop.

    After a word, more may gather until the event loop's clock next reaches a multiple of `gather_s` seconds.
    """
    return {
        "openai": OpenAIAdapter(client, gather_s=gather_s),
        "anthropic": AnthropicAdapter(client, gather_s=gather_s),
    }
