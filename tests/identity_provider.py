"""A small OpenID Connect provider over real HTTP: discovery, code flow with PKCE, signed tokens.

It signs in the person whom a test names. A test can have it say what no honest provider says.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT, SECRET = "companion", "a-secret-of-tests"


class IdentityProvider(ThreadingHTTPServer):
    """`claims`, `userinfo` and `document` replace what it says; `key` signs, and `published` is what it shows."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.subject, self.name = "subject-1", ""
        self.claims: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.published = self.key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        self.algorithm = "RS256"
        self.refuses = False
        self.asked: dict[str, dict[str, str]] = {}
        """The requests for which a code was given and not used, by code."""

    @property
    def issuer(self) -> str:
        """As it is set at the service."""
        return f"http://127.0.0.1:{self.server_address[1]}/realm"

    def be_honest(self, name: str, *, subject: str) -> None:
        """Forget what a test had it say, and sign in this person."""
        self.subject, self.name = subject, name
        self.claims, self.userinfo, self.document = {}, {}, {}
        self.key, self.algorithm = self.published, "RS256"
        self.refuses = False

    def sign(self, nonce: str) -> str:
        """The token of this sign-in."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": self.subject,
            "iat": now,
            "exp": now + 60,
            "nonce": nonce,
        }
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        key = SECRET if self.algorithm == "HS256" else None if self.algorithm == "none" else self.key
        return jwt.encode(claims, key, algorithm=self.algorithm, headers={"kid": "one"})  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: IdentityProvider

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        path, query = address.path.removeprefix("/realm"), address.query
        if path == "/.well-known/openid-configuration":
            issuer = self.server.issuer
            names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            endpoints = {f"{name}_endpoint": f"{issuer}/{at}" for name, at in names.items()}
            self._answer({"issuer": issuer, "jwks_uri": f"{issuer}/keys", **endpoints} | self.server.document)
        elif path == "/keys":
            shown = json.loads(RSAAlgorithm.to_jwk(self.server.published.public_key()))
            self._answer({"keys": [shown | {"kid": "one", "alg": "RS256", "use": "sig"}]})
        elif path == "/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(query).items()})
        elif path == "/userinfo" and self.headers["Authorization"] == "Bearer an-access-token":
            self._answer(
                {"sub": self.server.subject, "preferred_username": self.server.name} | self.server.userinfo
            )
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self.server.asked.pop(sent.get("code", ""), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or (sent["client_id"], sent["client_secret"]) != (CLIENT, SECRET)
            or asked["code_challenge"] != proof
            or asked["redirect_uri"] != sent["redirect_uri"]
        ):
            self._answer({"error": "invalid_grant"}, status=400)
            return
        token = self.server.sign(asked["nonce"])
        self._answer({"access_token": "an-access-token", "token_type": "Bearer", "id_token": token})

    def _authorize(self, asked: dict[str, str]) -> None:
        answer = {"state": asked["state"]}
        if self.server.refuses:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(12)
            self.server.asked[answer["code"]] = asked
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(answer)}")
        self.end_headers()

    def _answer(self, content: dict[str, Any], *, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing to the terminal."""


@contextmanager
def start_provider() -> Iterator[IdentityProvider]:
    """Start a provider for one module of tests."""
    with IdentityProvider() as provider:
        thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()
