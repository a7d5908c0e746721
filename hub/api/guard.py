"""Who may speak to the API: the right Host, no foreign page, the bearer token. A plain ASGI wrapper around the app."""

import hmac
from collections.abc import Collection

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from hub.api.problems import refused
from hub.errors import Refusal, Said

# A watchdog may ask whether the hub lives; it learns nothing else.
OPEN_PATHS = frozenset({"/api/v1/health", "/health"})
