"""The hub as a service of the system: what launchd and systemd are told. Texts only; nothing is written here. Pure."""

import plistlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

NAME: Final = "jira-hub"
LABEL: Final = "local.jira-hub"
RESTART_SECONDS: Final = 5  # a share that is mounted a little later than the hub starts


@dataclass(frozen=True, slots=True)
class Wanted:
    """`program` is the command with its arguments; `log` is where launchd puts what systemd keeps in its journal."""

    program: Sequence[str]
    home: str
    log: str


def systemd_unit(wanted: Wanted) -> str:
    """A unit of the user's own systemd."""
    return f"""\
[Unit]
Description=Queue of desired Jira states and its relay
Documentation=man:systemd.service(5)
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={" ".join(_argument(part) for part in wanted.program)}
Environment={_quoted(f"JIRA_HUB_HOME={wanted.home}")}
Restart=on-failure
RestartSec={RESTART_SECONDS}
KillSignal=SIGTERM
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""


def launchd_plist(wanted: Wanted) -> bytes:
    """A launch agent of the user."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(wanted.program),
            "EnvironmentVariables": {"JIRA_HUB_HOME": wanted.home},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": RESTART_SECONDS,
            "ProcessType": "Background",
            "Umask": 0o077,
            "StandardOutPath": wanted.log,
            "StandardErrorPath": wanted.log,
        }
    )


def _argument(text: str) -> str:
    """One argument of ExecStart: there a dollar would begin a variable, too."""
    return _quoted(text.replace("$", "$$"))


def _quoted(text: str) -> str:
    """In quotes; a percent sign would begin a specifier of systemd, a backslash an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
