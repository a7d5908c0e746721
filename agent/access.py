"""Where Jira is and how to get in. A form: nothing here talks to anybody."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Access:
    """`secrets` are masked in every text that leaves the client."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    ca_file: Path | None = None
    proxy: str | None = None

    @property
    def whose(self) -> str:
        """Names the user without telling a secret: what one user was told by Jira does not hold for another."""
        kind, _, secret = self.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            return base64.b64decode(secret).decode().partition(":")[0]
        return hashlib.sha256(secret.encode()).hexdigest()[:16]  # tokens are long and random
