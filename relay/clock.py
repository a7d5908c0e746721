"""The real time and the real chance: the only module that may ask the system for either."""

import secrets
import time
import uuid
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class SystemClock:
    """The machine's clocks (`Clock`)."""

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)

    def boot_id(self) -> str:
        """The kernel's boot id; elsewhere the moment of boot; a clock step changes it, safely."""
        try:
            return _BOOT_ID.read_text(encoding="ascii").strip()
        except OSError:
            return f"boot-{round((time.time() - time.monotonic()) / 10)}"


def random_bytes(count: int) -> bytes:
    """Chance fit for keys and nonces."""
    return secrets.token_bytes(count)


class SystemIds:
    """Random ids (`Ids`)."""

    def new_id(self) -> str:
        return uuid.uuid4().hex
