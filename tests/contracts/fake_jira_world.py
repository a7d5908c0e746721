"""A fake Jira in process, on a clock that moves only by hand. Shared by the tests of the fake; no assertions here."""

from typing import Any, Self

import httpx2

from examples.jira.app import JiraTransport, create_app
from examples.jira.server import FakeJira
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings
from tests.simulation.clock import SimulatedClock

API = "/rest/api/2"
AGILE = "/rest/agile/1.0"
START = 1_791_000_000.0  # in October 2026
SETTINGS = JiraSettings(tokens={DEFAULT_TOKEN: "svc_hub", "petrova-token": "petrova"})


class HandClock(SimulatedClock):
    """Both clocks stand still until somebody sleeps or `pass_time` is called."""

    def __init__(self) -> None:
        super().__init__(START)
        self._monotonic = 0.0

    pass_time = SimulatedClock.sleep


class World:
    """The fake, its clock, a client with the service user's token, and short ways to ask."""

    def __init__(self, settings: JiraSettings = SETTINGS) -> None:
        self.clock = HandClock()
        self.jira: FakeJira = create_app(settings, self.clock).jira
        self.client = self.client_of(DEFAULT_TOKEN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.jira.close()

    def client_of(self, token: str | None) -> httpx2.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(transport=JiraTransport(self.jira), base_url="http://jira", headers=headers, timeout=None)

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fields(self, key: str) -> Any:
        return self.get(f"{API}/issue/{key}")["fields"]

    def post(self, path: str, body: Any, code: int = 201) -> httpx2.Response:
        answer = self.client.post(path, json=body)
        assert answer.status_code == code, (answer.status_code, answer.text)
        return answer

    def put(self, path: str, body: Any, code: int = 204) -> httpx2.Response:
        answer = self.client.put(path, json=body)
        assert answer.status_code == code, (answer.status_code, answer.text)
        return answer

    def create(self, summary: str = "Новая задача", **fields: Any) -> str:
        named = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": summary}
        return str(self.post(f"{API}/issue", {"fields": named | fields}).json()["key"])

    def switch(self, **switches: Any) -> None:
        self.post("/control/switches", switches, 200)

    def fault(self, kind: str, **order: Any) -> None:
        self.post("/control/faults", {"kind": kind, **order})

    def edit(self, action: str, **what: Any) -> Any:
        return self.post("/control/edits", {"action": action, **what}).json()["done"][0]

    def requests(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/control/requests")["requests"]
        return found

    def searched(self, jql: str, code: int = 200, **more: Any) -> Any:
        answer = self.client.post(f"{API}/search", json={"jql": jql, **more})
        assert answer.status_code == code, answer.text
        return answer.json()

    def found(self, jql: str, **more: Any) -> list[str]:
        return [issue["key"] for issue in self.searched(jql, fields=["summary"], maxResults=1000, **more)["issues"]]
