"""A whole hub in memory (or on a file) with a clock that stands still: the real service, both real apps, no socket."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from hub.api import create_agent_app, create_app
from hub.api.context import Context
from hub.service import Service
from hub.store.connection import MEMORY, Database
from hub.store.opening import URLS, open_database
from tests.contracts.postgres_server import fresh_database
from tests.simulation.clock import SimulatedClock, SimulatedIds

TOKEN = "t" * 64
ENGINES: Final = ("memory", "file", "postgres")


class SmallHub:
    """`people` and `agent` are HTTP clients of the two apps; `clock` moves when told to."""

    def __init__(self, path: str = MEMORY) -> None:
        self.clock = SimulatedClock()
        self.database = open_database(path) if path.startswith(URLS) else Database(path, synchronous="normal")
        self.service = Service(self.database, clock=self.clock, ids=SimulatedIds())
        self.context = Context(self.service)
        self.app = create_app(self.context, token=TOKEN, hosts=["testserver"])
        self.people = TestClient(self.app, headers={"authorization": f"Bearer {TOKEN}"}, base_url="http://testserver")
        self.agent = TestClient(create_agent_app(self.context), base_url="http://relay")

        for client in (self.people, self.agent):
            client.__enter__()  # one event loop for all its requests

    def close(self) -> None:
        for client in (self.people, self.agent):
            client.__exit__()
        self.context.close()
        self.database.close()

    def batch(self, *commands: dict[str, Any], title: str = "batch", **more: Any) -> dict[str, Any]:
        """A batch that has to be accepted."""
        body = {"author": "anna", "title": title, "commands": list(commands), **more}
        answer = self.people.post("/api/v1/batches", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def claim(self, *, key: str | None = None, wait: float = 0, **state: Any) -> Any:
        """The delivery, or None where there is nothing to do."""
        answer = self.agent.post(
            "/api/v1/agent/claim",
            params={"wait": wait},
            json={"agent_version": 3, "session": "s1", "host": "vm", **state},
            headers={"idempotency-key": key} if key else {},
        )
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.status_code == 200 else None

    def claim_thrice(self) -> int:
        """The id of the command that was delivered three times and never reported."""
        for deliveries in (1, 2, 3):
            self.clock.sleep(60)
            delivery = self.claim()
            assert delivery["delivery"] == deliveries
        return int(delivery["id"])

    def report(self, command_id: int, status: str = "done", *, key: str | None = None, **more: Any) -> Any:
        """The answer to a report, whatever it is."""
        body = {"status": status, **({"error": "it broke"} if status == "failed" else {}), **more}
        headers = {"idempotency-key": key} if key else {}
        return self.agent.put(f"/api/v1/agent/commands/{command_id}/result", json=body, headers=headers)

    def command(self, command_id: int) -> dict[str, Any]:
        return dict(self.people.get(f"/api/v1/commands/{command_id}").json())

    def statuses(self, batch_id: int) -> list[str]:
        batch = self.people.get(f"/api/v1/batches/{batch_id}").json()
        return [command["status"] for command in batch["commands"]]


@contextmanager
def hub_on(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    """A small hub on one of `ENGINES`."""
    with ExitStack() as stack:
        path = {"memory": MEMORY, "file": str(tmp_path / "hub.sqlite")}.get(engine)
        if path is None:
            path = stack.enter_context(fresh_database(request.getfixturevalue("postgres_url")))
        hub = SmallHub(path)
        stack.callback(hub.close)
        yield hub


def fields(key: str = "AURORA-1", duedate: str = "2026-10-23") -> dict[str, Any]:
    return {"type": "ensure_fields", "key": key, "duedate": duedate}


def creation(temp_key: str = "new:1", summary: str = "Отчёт") -> dict[str, Any]:
    return {"type": "ensure_issue", "temp_key": temp_key, "summary": summary}


def link(source: str, target: str, **more: Any) -> dict[str, Any]:
    return {"type": "ensure_link", "source": source, "target": target, "link_type": "связанные", **more}


def reading(*issues: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"issues": list(issues), **more}
