"""`python -m examples.relay_alone`: a site served by one process, read by another, with nothing between but a folder.

With --keep the folder stays, to be looked into with `folder-relay ls`.
"""

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import httpx2

from relay import create_link
from relay.http import FolderTransport

PATIENCE_SECONDS = 30.0


@contextmanager
def serving(link: Path, state: Path) -> Iterator[None]:
    """The serving machine, as a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "examples.relay_alone.server", str(link), str(state)])
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def visit(link: Path, state: Path, told: Callable[[str], None]) -> None:
    """The visiting machine: plain httpx2, with the folder where the network would be."""
    transport = FolderTransport(link, state_dir=state)
    with httpx2.Client(transport=transport, base_url="http://site", timeout=PATIENCE_SECONDS) as http:
        for path in ("/", "/notes.txt", "/missing"):
            answer = http.get(path)
            told(f"GET {path} → {answer.status_code} {answer.headers['content-type']}, {len(answer.content)} bytes")
        tag = http.get("/notes.txt").headers["etag"]
        told(f"GET /notes.txt, If-None-Match → {http.get('/notes.txt', headers={'If-None-Match': tag}).status_code}")
        part = http.get("/notes.txt", headers={"Range": "bytes=0-9"})
        told(f"GET /notes.txt, bytes 0 to 9 → {part.status_code} {part.text!r}")
        told(f"POST / → {http.post('/', content=b'x').status_code}")


def shell(link: Path, state: Path, told: Callable[[str], None]) -> None:
    """The same from a shell, where others would use curl."""
    command = [sys.executable, "-m", "relay", "call", str(link), "GET", "/notes.txt", "--state", str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * PATIENCE_SECONDS)
    told(f"folder-relay call {link.name} GET /notes.txt → {done.stdout.strip()!r}")


def run(root: Path, told: Callable[[str], None]) -> None:
    """One round, with everything below `root`."""
    link = root / "share" / "site"
    link.parent.mkdir()
    create_link(link, "site")
    with serving(link, root / "server-state"):
        visit(link, root / "client-state", told)
        shell(link, root / "client-state", told)
    told(f"left in the folder: {sorted(path.name for path in link.iterdir())}")


def main() -> None:
    def told(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    options = ArgumentParser(prog="python -m examples.relay_alone", description="A site, read over a folder alone.")
    options.add_argument("--keep", action="store_true", help="leave the folder, to be looked into with folder-relay ls")
    if options.parse_args().keep:
        root = Path(mkdtemp(prefix="relay-alone-"))
        run(root, told)
        told(f"kept: {root}")
        return
    with TemporaryDirectory(prefix="relay-alone-") as root_name:
        run(Path(root_name), told)


if __name__ == "__main__":
    main()
