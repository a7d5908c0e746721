"""The demo's stage: folders, ports and configuration of programs that know of each other only what they are told."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.demo.processes import DemoFailure, Program, free_port, start

LINK: Final = "main"
JIRA_TOKEN: Final = "demo-token"
# The real policy scaled down sixty times, so that the demo ends while somebody watches.
GAPS: Final[Mapping[str, float]] = {
    "ensure_issue": 2.0,
    "ensure_fields": 2.0,
    "ensure_comment": 0.5,
    "ensure_status": 0.5,
    "ensure_link": 0.5,
    "ensure_sprint": 0.5,
    "refresh": 0.2,
}
BINARIES: Final = Path(sys.executable).parent
SETUP_SECONDS: Final = 30.0

AGENT_SETTINGS: Final = """\
jira_url = "http://127.0.0.1:{port}"
token_file = "{token}"
project = "AURORA"
board_id = 12
share = "{share}"
link = "{link}"
gap_floor = 0.1
read_gap = 0.1
settle_seconds = 3.0

[link_types]
"блокирует начало" = {{ name = "Блокировка" }}
"связанные" = {{ name = "Связь" }}
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where everything of one run stands, under one folder."""

    root: Path
    jira_port: int
    hub_port: int

    @classmethod
    def set_up(cls, root: Path) -> "Scene":
        """Make the folders, the hub's home and link, the agent's configuration, and a copy of the empty link for it."""
        scene = cls(root, free_port(), free_port())
        for folder in (scene.logs, scene.hub_share, scene.agent_share, scene.agent_home):
            folder.mkdir(parents=True)
        scene.hub("init", "--share", str(scene.hub_share), "--link", LINK, "--port", str(scene.hub_port))
        # What a sync tool does first: bring the other side up to date.
        shutil.copytree(scene.hub_share / LINK, scene.agent_share / LINK)
        token = scene.agent_home / "token"
        token.touch(mode=0o600)
        token.write_text(JIRA_TOKEN, encoding="utf-8")
        scene.agent_settings.write_text(
            AGENT_SETTINGS.format(
                port=scene.jira_port,
                token=token,
                share=scene.agent_share,
                link=LINK,
            ),
            encoding="utf-8",
        )
        return scene

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def hub_share(self) -> Path:
        return self.root / "hub-share"

    @property
    def agent_share(self) -> Path:
        return self.root / "agent-share"

    @property
    def hub_home(self) -> Path:
        return self.root / "hub-home"

    @property
    def agent_home(self) -> Path:
        return self.root / "agent-home"

    @property
    def agent_settings(self) -> Path:
        return self.agent_home / "agent.toml"

    @property
    def database(self) -> Path:
        return self.hub_home / "hub.sqlite"

    @property
    def courier_counts(self) -> Path:
        return self.root / "courier.json"

    @property
    def jira_url(self) -> str:
        return f"http://127.0.0.1:{self.jira_port}"

    @property
    def hub_url(self) -> str:
        return f"http://127.0.0.1:{self.hub_port}"

    @property
    def hub_environment(self) -> dict[str, str]:
        return {"JIRA_HUB_HOME": str(self.hub_home), "FOLDER_RELAY_STATE": str(self.root / "hub-relay")}

    @property
    def agent_environment(self) -> dict[str, str]:
        return {"JIRA_AGENT_HOME": str(self.agent_home), "FOLDER_RELAY_STATE": str(self.root / "agent-relay")}

    def hub(self, *arguments: str) -> str:
        """Run one command of the hub's command line as a person would; its standard output."""
        done = subprocess.run(
            [str(BINARIES / "jira-hub"), *arguments],
            env={**os.environ, **self.hub_environment},
            capture_output=True,
            text=True,
            timeout=SETUP_SECONDS,
            check=False,
        )
        if done.returncode:
            raise DemoFailure(f"jira-hub {' '.join(arguments)} ended with code {done.returncode}:\n{done.stderr}")
        return done.stdout

    def start_jira(self) -> Program:
        arguments = [sys.executable, "-m", "examples.jira", "--port", str(self.jira_port), "--token", JIRA_TOKEN]
        return start("jira", [*arguments, "--data", str(self.root / "jira")], logs=self.logs, environment={})

    def start_hub(self) -> Program:
        return start("hub", [str(BINARIES / "jira-hub"), "serve"], logs=self.logs, environment=self.hub_environment)

    def start_agent(self) -> Program:
        return start("agent", [str(BINARIES / "jira-agent"), "run"], logs=self.logs, environment=self.agent_environment)

    def start_courier(self, seed: int) -> Program:
        arguments = [sys.executable, "-m", "examples.demo.courier", str(self.hub_share / LINK)]
        arguments += [str(self.agent_share / LINK), "--log", str(self.courier_counts), "--seed", str(seed)]
        return start("courier", arguments, logs=self.logs, environment={})

    def carried(self) -> Mapping[str, int]:
        """The courier's counts: carried, lost, doubled, delayed."""
        try:
            counts: dict[str, int] = json.loads(self.courier_counts.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return counts
