"""The hub's log: a line for every request that changed something, with the ids it is found again by."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from hub.logs import Lines, start_logs
from tests.faces.small_hub import SmallHub, creation, fields

pytestmark = pytest.mark.usefixtures("logs_as_before")


class Log:
    def __init__(self, form: Any) -> None:
        self.stream = io.StringIO()
        self.lines: Lines = start_logs(form, self.stream)

    def told(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        self.stream.seek(0)
        self.stream.truncate()
        return [line for line in found if line["logger"].startswith("hub")]


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    made = SmallHub()
    yield made
    made.close()


def ids(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in ("link", "batch", "command", "request", "status"))


def test_each_move_of_a_command_is_a_line_with_its_ids(hub: SmallHub) -> None:
    log = Log("json")
    batch = hub.batch(creation(), fields("new:1"))["id"]
    command = hub.claim(key="claim-1")["id"]
    assert hub.report(command, key="report-1", result={"key": "AURORA-7"}).status_code == 200
    queued = hub.claim()["id"]
    hub.people.post(f"/api/v1/commands/{queued}/cancel", json={"force": True})
    again = hub.people.post(f"/api/v1/commands/{queued}/retry", json={}).json()["id"]
    hub.people.post(f"/api/v1/batches/{again}/cancel", json={})
    lines = log.told()
    assert [ids(line) for line in lines] == [
        ("main", batch, None, None, 201),
        ("main", batch, command, "claim-1", 200),
        ("main", batch, command, "report-1", 200),
        ("main", batch, queued, None, 200),
        ("main", batch, queued, None, 200),
        ("main", again, queued, None, 201),
        ("main", again, None, None, 200),
    ]
    assert lines[1]["text"] == "POST /api/v1/agent/claim"
    assert all(line["at"].endswith("Z") and line["level"] == "INFO" and "seconds" in line for line in lines)


def test_readings_and_empty_claims_are_no_news_and_refusals_are(hub: SmallHub) -> None:
    log = Log("json")
    hub.people.get("/api/v1/status")
    assert hub.claim() is None
    assert log.told() == []
    hub.people.post("/api/v1/batches/77/cancel", json={})
    assert [ids(line) for line in log.told()] == [("main", 77, None, None, 404)]


def test_text_is_one_line_with_the_same_ids(hub: SmallHub) -> None:
    log = Log("text")
    number = hub.batch(fields())["id"]
    line = next(line for line in log.stream.getvalue().splitlines() if "hub.requests" in line)
    assert f"INFO hub.requests: POST /api/v1/batches link=main batch={number} status=201" in line


def test_a_secret_is_masked_wherever_it_stands() -> None:
    log = Log("json")
    log.lines.hide("hush")
    try:
        raise ValueError("not hush but said")
    except ValueError:
        logging.getLogger("hub").exception("it was %s", "hush", extra={"request": "hush-1"})
    (line,) = log.told()
    assert (line["text"], line["request"]) == ("it was ***", "***-1")
    assert "not *** but said" in line["trouble"]
