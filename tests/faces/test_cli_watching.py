"""`jira-hub watch` on a terminal of its own; a hub that goes away for a moment, an answer that is lost."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hub.cli.client import AnswerLost, HubClient, NotRunning
from hub.cli.watching import watch_batch
from protocol.messages import ClaimRequest, Report
from tests.faces.running_hub import running_hub

PROGRAM = Path(sys.executable).parent / "jira-hub"
WISHES = [
    {"type": "ensure_fields", "key": "AURORA-1533", "duedate": "2026-10-23"},
    {"type": "ensure_comment", "key": "AURORA-1533", "marker": "plan:1", "body": "Срок перенесён"},
]


def seen_on_a_terminal(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Exit code of the program and what it drew on its stderr, a terminal of 24 × 100."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    sizes = {"LINES": "24", "COLUMNS": "100", "TERM": "xterm-256color"}
    everything = {**os.environ, **sizes, **environment}
    with subprocess.Popen([PROGRAM, *arguments], env=everything, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        drawn = b""
        while chunk := _read(ours):
            drawn += chunk
        code = process.wait(timeout=60)
    os.close(ours)
    return code, drawn.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux says so when the other end is closed
        return b""


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_a_terminal_shows_the_batch_its_pause_and_the_agent(tmp_path: Path, no_colour: str) -> None:
    with running_hub(tmp_path / "home") as hub:
        hub.service.create_batch("main", "ivanov", "Октябрь", WISHES)
        hub.service.claim("main", ClaimRequest(session="s"))
        environment = {"JIRA_HUB_HOME": str(hub.home), "JIRA_HUB_URL": hub.address, "NO_COLOR": no_colour}
        code, drawn = seen_on_a_terminal(["watch", "--timeout", "1.2"], environment)
    assert code == 1
    for text in (
        "Октябрь",
        "agent online",
        "0/3",
        "pause 1 min",
        "queued",
        "AURORA-1533 plan:1",
        "at least",
        ", until ",
    ):
        assert text in drawn
    assert ("\x1b[33m" in drawn) is (no_colour == "")


class _Flickering(HubClient):
    """A connection that finds nobody at its second and third question."""

    asked = 0

    def get(self, path: str, **params: str | int | None) -> Any:
        self.asked += 1
        if self.asked in (3, 4):
            raise NotRunning(self.address)
        return super().get(path, **params)


def test_a_watch_goes_on_past_a_hub_that_is_restarted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_hub(tmp_path / "home") as hub:
        hub.service.create_batch("main", "ivanov", "Октябрь", WISHES[:1])
        for _ in range(2):
            answer = hub.service.claim("main", ClaimRequest(session="s"))
            assert answer is not None
            number = int(answer.body.partition('"id":')[2].partition(",")[0])
            if number == 1:
                hub.service.report("main", number, Report(status="done", result={}))
        token = (hub.home / "token").read_text().strip()
        with _Flickering(hub.address, token, "main") as client:
            with pytest.raises(Exception, match="not at rest: 1 of 2 done"):
                watch_batch(client, 1, as_json=False, timeout=2.5)
            assert client.asked > 4
    assert "#1 ensure_fields AURORA-1533 duedate: done" in capsys.readouterr().err


class _Forgetful(HubClient):
    """A connection that loses the first answer after the hub has done what it was asked."""

    asked = 0

    def _ask(self, method: str, path: str, **request: Any) -> Any:
        answer = super()._ask(method, path, **request)
        self.asked += 1
        if self.asked == 1:
            raise AnswerLost("the answer was lost")
        return answer


def test_a_batch_whose_answer_was_lost_is_asked_for_again_and_made_once(tmp_path: Path) -> None:
    with running_hub(tmp_path / "home") as hub:
        token = (hub.home / "token").read_text().strip()
        with _Forgetful(hub.address, token, "main") as client:
            batch = client.create("/batches", {"author": "ivanov", "title": "Октябрь", "commands": WISHES})
            assert client.asked == 2
            assert [each["id"] for each in client.get("/batches")["items"]] == [batch["id"]]
