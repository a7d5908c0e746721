"""The agent's way to the fake Jira: time passes, connections break, proxies answer, the power goes."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from examples.jira.app import JiraTransport
from examples.jira.server import FakeJira
from tests.simulation.faults import CALLS, Weather
from tests.simulation.virtual_time import Process, Time

# What a client sees of a request that takes too long: a proxy in front of Jira gives up long before Jira does.
PROXY_SECONDS = (20.0, 60.0)


@dataclass(slots=True)
class JiraCall:
    """One request as it really happened. `ended` stays endless where the agent died in it."""

    started: float
    agent: str
    life: int
    command_id: int | None
    pause: float
    method: str
    path: str
    body: Any
    ended: float = math.inf
    reading: bool = True
    executed_at: float | None = None
    status: int | None = None

    @property
    def writes(self) -> bool:
        return not self.reading


class JiraWire(httpx2.BaseTransport):
    """One agent process's way. `settle` is how long a late write may take at most, by the contract of `faults`."""

    def __init__(
        self,
        jira: FakeJira,
        time: Time,
        weather: Weather,
        process: Process,
        settle: float,
        began: Callable[[httpx2.Request], JiraCall],
        executed: Callable[[JiraCall, httpx2.Response], None],
    ) -> None:
        self._inner = JiraTransport(jira)
        self._time, self._weather, self._process, self._settle = time, weather, process, settle
        self._began, self._executed = began, executed

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._process.point("http before")
        call = self._began(request)
        fault = self._weather.strikes(CALLS)
        chance = self._weather.chance
        self._wait(chance.uniform(0.02, 0.3))
        try:
            response = self._fated(request, call, fault)
        finally:
            if self._process.alive:
                call.ended = self._time.now
        self._process.point("http after")
        return response

    def _wait(self, seconds: float) -> None:
        self._time.pump(self._time.now + seconds, owner=self._process)

    def _execute(self, request: httpx2.Request, call: JiraCall) -> httpx2.Response:
        response = self._inner.handle_request(request)
        call.status, call.executed_at = response.status_code, self._time.now
        self._executed(call, response)
        return response

    def _fated(self, request: httpx2.Request, call: JiraCall, fault: str | None) -> httpx2.Response:
        match fault:
            case "refused":
                raise httpx2.ConnectError("connection refused", request=request)
            case "dropped before":
                raise httpx2.ReadError("connection reset", request=request)
            case "dropped after":
                self._execute(request, call)
                self._process.point("http executed")
                raise httpx2.ReadError("connection reset", request=request)
            case "slow":
                return self._slow(request, call)
            case "page before":
                return _page(request, 503)
            case "page after":
                self._execute(request, call)
                return _page(request, 504)
            case "broken json":
                response = self._execute(request, call)
                broken = response.content[: len(response.content) // 2]
                headers = {"content-type": "application/json"}
                return httpx2.Response(response.status_code, headers=headers, content=broken, request=request)
            case "error after":
                self._execute(request, call)
                return httpx2.Response(500, json={"errorMessages": ["Internal server error"]}, request=request)
            case "rate limit":
                call.status = 429
                headers = {"retry-after": str(self._weather.chance.choice((0, 5, 90)))}
                return httpx2.Response(429, headers=headers, json={"message": "slow down"}, request=request)
        response = self._execute(request, call)
        self._process.point("http executed")
        return response

    def _slow(self, request: httpx2.Request, call: JiraCall) -> httpx2.Response:
        """Jira works on it for longer than the proxy waits; it takes effect all the same, within the settle window."""
        given_up = self._weather.chance.choice(PROXY_SECONDS)
        lands = self._weather.chance.uniform(given_up, self._settle - 1.0)
        started = call.started
        self._time.at(started + lands, lambda: self._land(request, call))
        self._wait(given_up)
        raise httpx2.ReadTimeout("timed out", request=request)

    def _land(self, request: httpx2.Request, call: JiraCall) -> None:
        response = self._inner.handle_request(request)
        call.status, call.executed_at = response.status_code, self._time.now
        self._executed(call, response)


def _page(request: httpx2.Request, status: int) -> httpx2.Response:
    page = b"<html><head><title>Bad gateway</title></head></html>"
    return httpx2.Response(status, headers={"content-type": "text/html"}, content=page, request=request)


def body_of(request: httpx2.Request) -> Any:
    content = request.read()
    return json.loads(content) if content else None
