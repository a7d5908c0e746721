"""One served hub with two links: two agents as real processes, over two folders, against one fake Jira."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.jira.server import FakeJira
from examples.jira.settings import JiraSettings
from hub.cli.home import make_home, read_token, settings_of
from relay.clock import SystemClock
from tests.contracts.agent_process import CANARY, DEADLINE, Place, on_a_port, wait_until
from tests.faces.small_hub import creation
from tests.faces.test_cli_served_hub import PROGRAM, free_port

LINKS = ("main", "second")
NO_GAPS = {"ensure_issue": 0, "refresh": 0}
LONG_SECONDS = 3_600


class Hub:
    """What people ask of it."""

    def __init__(self, home: Path) -> None:
        settings = settings_of(home)
        self._client = httpx2.Client(
            base_url=f"http://127.0.0.1:{settings.port}/api/v1",
            headers={"authorization": f"Bearer {read_token(settings)}"},
            trust_env=False,
        )

    def ask(self, method: str, path: str, link: str, body: Any = None) -> Any:
        answer = self._client.request(method, path, params={"link": link}, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def answers(self) -> bool:
        with contextlib.suppress(httpx2.TransportError):
            return bool(self._client.get("/health").is_success)
        return False

    def close(self) -> None:
        self._client.close()

    def batch(self, link: str, *summaries: str) -> int:
        commands = [creation(f"new:{number}", summary) for number, summary in enumerate(summaries, 1)]
        return int(self.ask("POST", "/batches", link, {"author": "anna", "title": link, "commands": commands})["id"])

    def statuses(self, link: str, batch: int) -> list[str]:
        return [command["status"] for command in self.ask("GET", f"/batches/{batch}", link)["commands"]]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, Place]]:
    """A machine for each agent, beside the one Jira; the shares are two folders."""
    jira = FakeJira(JiraSettings(tokens={CANARY: "svc_hub"}, issues=41), SystemClock())
    with on_a_port(jira) as url:
        made = {}
        for link in LINKS:
            (tmp_path / link).mkdir()
            made[link] = Place(tmp_path / link, jira, url)
            made[link].configure(f'link = "{link}"')
        yield made
    jira.close()


@contextlib.contextmanager
def serving(home: Path) -> Iterator[Hub]:
    with subprocess.Popen([PROGRAM, "--home", home, "serve"], stderr=subprocess.DEVNULL) as process:
        hub = Hub(home)
        try:
            wait_until(lambda: hub.answers() or process.poll() is not None)
            yield hub
        finally:
            hub.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0


def test_two_agents_of_one_hub_work_at_once_each_on_its_own_link(tmp_path: Path, places: dict[str, Place]) -> None:
    home = tmp_path / "hub"
    make_home(home, {"share": str(places["main"].share), "port": free_port(), "project": "AURORA"})
    make_home(home, {"link": "second", "share": str(places["second"].share), "project": "AURORA"})
    with contextlib.ExitStack() as stack:
        hub = stack.enter_context(serving(home))
        for link in LINKS:
            hub.ask("PUT", "/settings", link, {"pacing": NO_GAPS})
            stack.enter_context(places[link].running(tmp_path / f"{link}.log"))
        first = {link: hub.batch(link, f"{link} один", f"{link} два") for link in LINKS}
        wait_until(lambda: all(hub.statuses(link, first[link]) == ["done"] * 3 for link in LINKS))

        # The command of one link waits out its gap at the agent; the other link goes on meanwhile.
        hub.ask("PUT", "/settings", "main", {"pacing": {"ensure_issue": LONG_SECONDS}})
        held, free = hub.batch("main", "main три"), hub.batch("second", "second три", "second четыре")
        wait_until(lambda: "claimed" in hub.statuses("main", held))
        wait_until(lambda: hub.statuses("second", free) == ["done"] * 3)
        assert hub.statuses("main", held) == ["claimed", "queued"]

        status = {link: hub.ask("GET", "/status", link) for link in LINKS}
        assert [status[link]["relay"]["peer_online"] for link in LINKS] == [True, True]
        assert [status[link]["agent"]["online"] for link in LINKS] == [True, True]
        assert status["main"]["agent"]["session"] != status["second"]["agent"]["session"]
        trips = status["second"]["relay"]["round_trips"]
        assert sum(trips["counts"]) > 0
        assert len(trips["counts"]) == len(trips["limits"]) + 1
        seen = subprocess.run(
            [PROGRAM, "--home", home, "--link", "second", "status"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert "second" in seen.stdout.splitlines()[0]
    posts = [one for one in places["main"].written() if one["method"] == "POST" and one["path"].endswith("/issue")]
    assert len(posts) == 6
