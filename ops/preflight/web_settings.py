"""PURE: whether the settings of hosts, cookies, proxy, figures and alerts agree with one another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.checks import CheckMessage, Error, Warning
from django.http.request import split_domain_port, validate_host

from routing.web_addresses import is_loopback

MIN_TOKEN_CHARS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class WebSettings:
    """The settings that are compared; see `ops/reference/settings.md`."""

    origins: Sequence[str]
    hosts: Sequence[str]
    secure_cookies: bool
    behind_proxy: bool
    ops_token: str
    alert_transports: int


def judge_web_settings(web: WebSettings) -> Iterator[CheckMessage]:
    """What keeps people or staff from using the pages, and what makes the service less safe."""
    yield from _judge_cookies(web)
    yield from _judge_hosts(web)
    secure = [origin for origin in web.origins if origin.startswith("https:")]
    if secure and not web.behind_proxy:
        yield Warning(
            f"{secure[0]} is served through a proxy, because web processes speak no TLS, and COMPANION_BEHIND_PROXY "
            "is not yes. All callers have the address of the proxy: a few wrong cards keep everyone out.",
            hint="Let the proxy set X-Real-IP as in ops/deploy/nginx.example.conf, and set COMPANION_BEHIND_PROXY=yes.",
            id="companion.W012",
        )
    if web.ops_token and len(web.ops_token) < MIN_TOKEN_CHARS:
        yield Warning(
            f"OPS_TOKEN has {len(web.ops_token)} characters and can be guessed. It opens the figures.",
            hint=f"Give it {MIN_TOKEN_CHARS} random characters or more.",
            id="companion.W013",
        )
    if not web.alert_transports:
        yield Warning(
            "No alert leaves the pages: neither ALERT_EMAIL nor ALERT_WEBHOOK_URL is set.",
            hint="Set one of them, so that operators hear of a fault before people do.",
            id="companion.W014",
        )


def _judge_cookies(web: WebSettings) -> Iterator[CheckMessage]:
    for origin in web.origins:
        if origin.startswith("https:") and not web.secure_cookies:
            yield Error(
                f"{origin} is HTTPS, and COMPANION_SECURE_COOKIES is not yes: cookies also travel without it.",
                hint="Set COMPANION_SECURE_COOKIES=yes.",
                id="companion.E010",
            )
            break
    # Browsers treat loopback as secure.
    plain = [origin for origin in web.origins if origin.startswith("http:") and not is_loopback(origin)]
    if plain and web.secure_cookies:
        yield Error(
            f"COMPANION_SECURE_COOKIES is yes, and {plain[0]} is not HTTPS: browsers keep no cookie there, so no "
            "sign-in works.",
            hint="Serve it by HTTPS and name it so in TRUSTED_ORIGINS.",
            id="companion.E011",
        )


def _judge_hosts(web: WebSettings) -> Iterator[CheckMessage]:
    for origin in web.origins:
        host, _ = split_domain_port(urlsplit(origin).netloc)
        if not validate_host(host, web.hosts):
            yield Error(
                f"ALLOWED_HOSTS leaves out {host}, so every page of {origin} is refused.",
                hint=f"Add {host} to ALLOWED_HOSTS.",
                id="companion.E012",
            )
    if "*" in web.hosts:
        yield Warning(
            "ALLOWED_HOSTS accepts every name: a foreign name could stand in links.",
            hint="Name the hosts, such as talk.example.org.",
            id="companion.W010",
        )
    if not web.origins or all(is_loopback(origin) for origin in web.origins):
        yield Warning(
            "TRUSTED_ORIGINS names no address that other machines can reach. It stands in cards and in e-mails.",
            hint="Put the public address first, such as https://talk.example.org.",
            id="companion.W011",
        )
