"""What a sync tool need not carry of a link: its temporary files. Syncthing reads it in `.stignore`."""

import logging
from pathlib import Path
from typing import Final

IGNORE_NAME: Final = ".stignore"
_ROOT_MARK: Final = ".stfolder"
_LOG: Final = logging.getLogger(__name__)


def ignore_temporary(link: Path) -> None:
    """Add the line to the link's own `.stignore`, and to that of the folder which Syncthing keeps in step already.

    Only ever adds. What cannot be written costs traffic and nothing else, so it hinders nobody.
    """
    link = link.resolve()
    roots = [link, *(place for place in link.parents if (place / _ROOT_MARK).exists())]
    for root in roots:
        line = f"/{(link.relative_to(root) / 'to-*' / '.tmp').as_posix()}"
        path = root / IGNORE_NAME
        try:
            present = path.read_text(encoding="utf-8") if path.exists() else ""
            if line not in present.splitlines():
                with path.open("a", encoding="utf-8") as stream:
                    stream.write(("" if present.endswith("\n") or not present else "\n") + line + "\n")
        except (OSError, UnicodeDecodeError) as error:
            _LOG.warning("add %s to %s, so that Syncthing leaves temporary files out: %s", line, path, error)
