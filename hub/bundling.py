"""The release that runs here as a wheel to carry to the agent's machine: packed from what is installed, no network."""

import base64
import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

PACKAGES: Final = ("agent", "hub", "protocol", "relay")
_WHEEL: Final = "Wheel-Version: 1.0\nGenerator: jira-hub agent bundle\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_LEFT_OUT: Final = frozenset({"__pycache__"})
_EPOCH: Final = (2020, 1, 1, 0, 0, 0)  # one release is one file, whoever packs it and when: its digest can be compared
_MODE: Final = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Bundle:
    """A wheel; `sha256` is what the other machine compares."""

    path: Path
    version: str
    sha256: str


def make_bundle(folder: Path) -> Bundle:
    """Write the wheel into `folder`, over one of the same name. Raises `OSError`."""
    installed = distribution("jira-hub")
    version = installed.version
    about = f"jira_hub-{version}.dist-info"
    files = dict(sorted({**_code(), **_metadata(installed, about)}.items()))
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"jira_hub-{version}-py3-none-any.whl"
    unfinished = path.with_suffix(".unfinished")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                entry = zipfile.ZipInfo(name, _EPOCH)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
                archive.writestr(entry, data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return Bundle(path, version, hashlib.sha256(path.read_bytes()).hexdigest())


def _code() -> dict[str, bytes]:
    root = Path(__file__).resolve().parents[1]
    return {path.relative_to(root).as_posix(): path.read_bytes() for name in PACKAGES for path in _files(root / name)}


def _files(package: Path) -> Iterator[Path]:
    for path in package.rglob("*"):
        if path.is_file() and not _LEFT_OUT & {*path.parts}:
            yield path


def _metadata(installed: Distribution, about: str) -> dict[str, bytes]:
    texts = {name: installed.read_text(name) for name in ("METADATA", "entry_points.txt", "licenses/LICENSE")}
    found = {f"{about}/{name}": text.encode() for name, text in texts.items() if text is not None}
    return {**found, f"{about}/WHEEL": _WHEEL.encode()}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
