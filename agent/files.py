"""A small file of the agent's own, replaced as a whole: whoever reads it finds the old content or the new."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path


def replace_file(path: Path, parts: Iterable[bytes], *, sync: Callable[[int], None] | None = None) -> None:
    """Write `parts` beside `path`, readable by the owner alone, and rename. `sync` makes it durable first."""
    fresh = path.with_name(f"{path.name}.new")
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as out:
        out.writelines(parts)
        out.flush()
        if sync is not None:
            sync(file)
    fresh.replace(path)
