"""`jira-agent collect`: one archive for whoever helps, with what the agent did and nothing it must not tell.

Secrets are masked in every text, and texts of people's (summaries, descriptions, comments) are reduced to their length.
"""

import io
import json
import os
import platform
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from agent.config import AgentConfig, ConfigFault, config_file
from agent.journal import read_records
from relay.ports import Clock

MAX_RECORDS: Final = 50_000  # the newest; about five thousand commands
_TEXTS: Final = frozenset({"summary", "description", "body", "title", "jql", "text"})
_SECRET_SETTING: Final = re.compile(r"""(?im)^(\s*["']?(?:token|password|user|proxy)["']?\s*=\s*).*$""")
PACKAGES: Final = ("jira-hub", "httpx2", "pydantic", "watchdog", "tenacity", "filelock")


def collect(config: AgentConfig, target: Path, clock: Clock, told: Mapping[str, Any]) -> None:
    """Write the archive `target`, readable by its owner alone; never overwrites. `told` is what `status` says.

    Raises `FileExistsError`.
    """
    masked = _masking(config)
    moment = int(clock.wall())
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in _contents(config, told):
            content = masked(text).encode()
            entry = tarfile.TarInfo(f"{target.name.partition('.')[0]}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), moment, 0o600
            archive.addfile(entry, io.BytesIO(content))


def _contents(config: AgentConfig, told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    about = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: version(name) for name in PACKAGES},
    }
    yield "about.json", json.dumps(about, indent=2)
    yield "status.json", json.dumps(dict(told), ensure_ascii=False, indent=2)
    settings = _read(config_file())
    yield "agent.toml", _SECRET_SETTING.sub(r'\1"***"', settings)
    yield "journal.jsonl", _records(config.journal)
    yield "orphans.jsonl", _records(config.journal.with_name("orphans.jsonl"))
    yield "names.json", _read(config.journal.with_name(f"{config.journal.name}.names"))


def _records(path: Path) -> str:
    """The newest records, one JSON object a line; a damaged line is told as such."""
    found = list(read_records(path))[-MAX_RECORDS:]
    shown = ({"damaged": True} if one is None else one.model_dump(mode="json", exclude_none=True) for one in found)
    return "".join(f"{json.dumps(_without_texts(one), ensure_ascii=False)}\n" for one in shown)


def _without_texts(value: Any, name: str = "") -> Any:
    match value:
        case str() if name in _TEXTS:
            return f"«{len(value)} characters»"
        case dict():
            return {key: _without_texts(one, key) for key, one in value.items()}
        case list():
            return [_without_texts(one, name) for one in value]
        case _:
            return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"# not readable: {error.strerror}\n"


def _masking(config: AgentConfig) -> Callable[[str], str]:
    """Masks every secret in use; without one to know there is none to hide."""
    try:
        secrets = config.access().secrets
    except ConfigFault:
        secrets = ()

    def masked(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    return masked
