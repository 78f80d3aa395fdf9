"""The bearer token that a server may ask for."""

import hmac
import os
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from taxocaps.errors import ConfigError
from taxocaps.web.answers import Refused, error_response
from taxocaps.web.page_files import PAGE_PATHS

__all__ = ["OPEN_PATHS", "TokenGate", "find_token"]

OPEN_PATHS = PAGE_PATHS | {"/healthz", "/docs"}
"""What is answered to everyone: the page asks for the token itself, and no link can carry one."""

_VARIABLE = "TAXOCAPS_TOKEN"


class TokenGate:
    """Lets requests through that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Stand in front of `app`."""
        self._app, self._wanted = app, b"bearer " + token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS and not self._carries(scope):
            refused = Refused(401, "this server wants its token: Authorization: Bearer ...", headers=_CHALLENGE)
            await error_response(refused)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _carries(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, _, token = given.partition(b" ")
        # The comparison takes the same time wherever the first difference is.
        return hmac.compare_digest(scheme.lower() + b" " + token.strip(), self._wanted)


_CHALLENGE = {"WWW-Authenticate": "Bearer", "Connection": "close"}


def find_token(file: Path | None) -> str | None:
    """The token from a file, else from the environment variable TAXOCAPS_TOKEN, else none.

    Raises:
        ConfigError: If it is empty, or has characters that a header cannot carry.
    """
    if file is not None:
        try:
            token, where = file.read_text(encoding="utf-8").strip(), str(file)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: a token is printable ASCII without spaces") from error
    elif _VARIABLE in os.environ:
        token, where = os.environ[_VARIABLE].strip(), f"the environment variable {_VARIABLE}"
    else:
        return None
    if not token:
        raise ConfigError(f"{where}: the token is empty")
    if not all("!" <= character <= "~" for character in token):
        raise ConfigError(f"{where}: a token is printable ASCII without spaces")
    return token
