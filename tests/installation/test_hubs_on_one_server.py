"""Two served hubs on one PostgreSQL, each a process with a link of its own: each hears what the other was told."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hub.cli.home import make_home, read_token, settings_of
from tests.contracts.agent_process import DEADLINE, wait_until
from tests.contracts.postgres_server import fresh_database
from tests.faces.small_hub import fields
from tests.faces.test_cli_served_hub import PROGRAM, free_port

LONG_SECONDS = 50  # beyond every patience of this test: an answer before that was woken


def client_of(home: Path) -> httpx2.Client:
    settings = settings_of(home)
    return httpx2.Client(
        base_url=f"http://127.0.0.1:{settings.port}/api/v1",
        headers={"authorization": f"Bearer {read_token(settings)}"},
        timeout=0.8 * LONG_SECONDS,
        trust_env=False,
    )


@contextlib.contextmanager
def serving(home: Path, url: str) -> Iterator[httpx2.Client]:
    environment = {**os.environ, "JIRA_HUB_DATABASE_URL": url}
    with (
        subprocess.Popen([PROGRAM, "--home", home, "serve"], env=environment, stderr=subprocess.DEVNULL) as process,
        client_of(home) as people,
    ):

        def answers() -> bool:
            with contextlib.suppress(httpx2.TransportError):
                return bool(people.get("/health").is_success)
            return process.poll() is not None

        try:
            wait_until(answers)
            assert process.poll() is None
            yield people
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE)


@pytest.fixture
def hubs(tmp_path: Path, postgres_url: str) -> Iterator[dict[str, httpx2.Client]]:
    """People at each hub, by the link it serves."""
    (tmp_path / "share").mkdir()
    with fresh_database(postgres_url) as url, contextlib.ExitStack() as stack:
        found = {}
        for link in ("main", "second"):
            make_home(tmp_path / link, {"link": link, "share": str(tmp_path / "share"), "port": free_port()})
            found[link] = stack.enter_context(serving(tmp_path / link, url))
        yield found


def ask(people: httpx2.Client, method: str, path: str, link: str, body: Any = None) -> Any:
    answer = people.request(method, path, params={"link": link}, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def test_a_batch_posted_to_one_hub_wakes_the_claim_parked_at_another(hubs: dict[str, httpx2.Client]) -> None:
    """The agent is parked at the hub that serves its link; the person asks the hub of another link."""
    answers: list[Any] = []

    def claim() -> None:
        body = {"agent_version": 3, "session": "s1", "host": "vm"}
        answers.append(hubs["main"].post(f"/agent/claim?wait={LONG_SECONDS}&link=main", json=body).json())

    agent = threading.Thread(target=claim)
    agent.start()
    wait_until(lambda: ask(hubs["second"], "GET", "/status", "main")["agent"]["host"] == "vm")  # it looked, and waits
    wish = {"author": "anna", "title": "t", "commands": [fields()]}
    made = ask(hubs["second"], "POST", "/batches", "main", wish)
    agent.join(DEADLINE)
    (delivery,) = answers
    assert (delivery["batch_id"], delivery["delivery"]) == (made["id"], 1)
    assert ask(hubs["second"], "GET", "/status", "second")["counts"]["claimed"] == 0
    refused = hubs["second"].get("/status", params={"link": "mian"})
    assert (refused.status_code, refused.json()["errors"][0]["hint"]) == (422, "did you mean main?")
