"""The installed agent as a real process, between a fake Jira on a real port and a queue behind a real shared folder."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from agent.ports import HubUnreachable
from examples.jira.app import JiraApp
from examples.jira.control import remember_faults
from examples.jira.faults import Fault
from examples.jira.server import FakeJira
from examples.jira.serving import DroppingProtocol, listen
from examples.jira.settings import JiraSettings
from relay import Reply, Request, Server, create_link
from relay.clock import SystemClock
from tests.contracts.agent_world import Queue

AGENT = [sys.executable, "-c", "from agent.cli import main; main()"]
DEADLINE = 60.0
CANARY = "canary-Zx81-token-never-to-be-seen"
SETTINGS = """\
jira_url = "{url}"
token_file = "{token}"
project = "AURORA"
board_id = 12
share = "{share}"
planned_start_field_id = "customfield_10583"
planned_end_field_id = "customfield_10584"
gap_floor = 0
read_gap = 0
settle_seconds = 1.0
claim_wait_seconds = 0
{more}
[link_types]
"блокирует начало" = {{ name = "Блокировка" }}
"связанные" = {{ name = "Связь" }}
"""


class _JiraServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextlib.contextmanager
def on_a_port(jira: FakeJira) -> Iterator[str]:
    """The address at which this fake answers; the same object can be asked and told directly."""
    listener = listen("127.0.0.1", 0)
    server = _JiraServer(
        uvicorn.Config(JiraApp(jira), http=DroppingProtocol, log_config=None, lifespan="off", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert server.listening.wait(DEADLINE)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(DEADLINE)
        listener.close()


class Place:
    """One agent's machine: its home, the share, Jira, and the queue that answers behind the share."""

    def __init__(self, folder: Path, jira: FakeJira, url: str) -> None:
        self.jira = jira
        self.url = url
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.share = folder / "share"
        self.share.mkdir()
        create_link(self.share / "main", "main")
        self.queue = Queue(SystemClock())  # type: ignore[arg-type]  # any clock does
        self.queue.gaps = dict.fromkeys(self.queue.gaps, 0.0)
        self.token = self.home / "token"
        self.put_token(CANARY)
        self.configure()

    def put_token(self, token: str) -> None:
        self.token.touch(mode=0o600)
        self.token.write_text(token, encoding="utf-8")

    def configure(self, more: str = "", **changed: str) -> None:
        """Write the configuration: `more` lines before its tables, and some values changed."""
        text = SETTINGS.format(url=self.url, token=self.token, share=self.share, more=more)
        for name, value in changed.items():
            text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
        (self.home / "agent.toml").write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JIRA_AGENT_")}
        return {**kept, "JIRA_AGENT_HOME": str(self.home), "FOLDER_RELAY_STATE": str(self.home / "relay")}

    def ran(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`jira-agent` with these arguments, to its end."""
        return subprocess.run(
            [*AGENT, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
            cwd=self.home,
        )

    @contextlib.contextmanager
    def running(self, log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """`jira-agent run`, until the end of the block; its words go to `log`."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*AGENT, "run"], env=self.environment, stdout=output, stderr=subprocess.STDOUT, cwd=self.home
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(DEADLINE)

    def answer(self, request: Request) -> Reply:
        """The hub's side of the folder."""
        body = request.json() if request.body else None
        try:
            answer = self.queue(request.method, request.path, body, request.id, 30.0)
        except HubUnreachable:
            return Reply(503)
        if answer.status == 204 and request.path.partition("?")[0].endswith("/claim"):
            time.sleep(0.1)  # so short a long poll: a claim that is refused at once would be repeated at once
        return Reply(answer.status, {"content-type": "application/json"}, answer.body)

    def serving(self) -> Server:
        return Server(self.share / "main", self.answer, state_dir=self.home.parent / "hub-relay")

    def switch(self, **switches: Any) -> None:
        with self.jira.store.transaction():
            self.jira.store.remember("switches", switches)

    def fault(self, *faults: Fault) -> None:
        with self.jira.store.transaction():
            remember_faults(self.jira.store, list(faults))

    def requests(self) -> list[dict[str, Any]]:
        with self.jira.store.lock:
            return self.jira.store.requests()

    def written(self) -> list[dict[str, Any]]:
        return [one for one in self.requests() if one["executed"]]

    def wait_for(self, commands: int, process: "subprocess.Popen[bytes]") -> None:
        """Until so many commands have been reported."""
        wait_until(lambda: len(self.queue.reports) >= commands or process.poll() is not None)
        assert process.poll() is None, "the agent has ended"


def wait_until(true: Any) -> None:
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


@contextlib.contextmanager
def place(folder: Path, *, issues: int = 41) -> Iterator[Place]:
    """A machine whose agent's token is the canary."""
    jira = FakeJira(JiraSettings(tokens={CANARY: "svc_hub"}, issues=issues), SystemClock())
    with on_a_port(jira) as url:
        yield Place(folder, jira, url)
    jira.close()
