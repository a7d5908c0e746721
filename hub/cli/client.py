"""The hub over its HTTP API on loopback: the only way the command line reaches it. Nothing is decided here."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx2

from hub.cli.exits import BY_STATUS, FAILURE, USAGE, Stop
from relay.clock import SystemIds

TIMEOUT_SECONDS: Final = 60.0  # a batch of a thousand commands on a slow disk; loopback itself takes no time
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Refused(Stop):
    """The hub answered with a Problem (`protocol.errors`)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        if status == 401:  # the hub advises programs; here the token comes from the home
            problem = {**problem, "hint": "this home's token is another hub's: name the right --home, or --url"}
        what = str(problem.get("detail") or problem.get("title") or f"the hub refused with {status}")
        super().__init__(
            what, hint=problem.get("hint"), code=BY_STATUS.get(status, FAILURE), document={**problem, "status": status}
        )
        self.status = status
        self.problem = problem


class HubClient:
    """One connection to the hub for the length of one command."""

    def __init__(self, address: str, token: str, link: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Stop(f"{address!r} is no address of a hub", hint="write http://127.0.0.1:PORT", code=USAGE)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise Stop(
                f"{address} is another machine, and plain http would show it the token",
                hint="reach a distant hub through a tunnel that ends on 127.0.0.1",
                code=USAGE,
            )
        self.address = address.rstrip("/")
        self._client = httpx2.Client(
            base_url=f"{self.address}/api/v1",
            params={} if link is None else {"link": link},
            headers={"authorization": f"Bearer {token}", "accept-language": "en"},
            timeout=TIMEOUT_SECONDS,
            trust_env=False,  # a proxy of the environment has no business between this machine and itself
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, **params: str | int | None) -> Any:
        given = {name: value for name, value in params.items() if value is not None}
        return self._ask("GET", path, params=given)

    def send(self, method: str, path: str, body: object = None) -> Any:
        return self._ask(method, path, json=body) if body is not None else self._ask(method, path)

    def create(self, path: str, body: object) -> Any:
        """POST under a key of its own: if the answer is lost, asking once more makes nothing twice."""
        headers = {"idempotency-key": SystemIds().new_id()}
        try:
            return self._ask("POST", path, json=body, headers=headers)
        except AnswerLost:
            return self._ask("POST", path, json=body, headers=headers)

    def _ask(self, method: str, path: str, **request: Any) -> Any:
        try:
            answer = self._client.request(method, path, **request)
        except httpx2.ConnectError as error:
            raise NotRunning(self.address) from error
        except httpx2.TimeoutException as error:
            raise AnswerLost(f"The hub at {self.address} did not answer within {TIMEOUT_SECONDS:.0f} s") from error
        except httpx2.TransportError as error:
            raise AnswerLost(f"The connection to the hub at {self.address} broke: {error}") from error
        return _document(answer)


class AnswerLost(Stop):
    """The question went out and no answer came back."""

    def __init__(self, what: str) -> None:
        super().__init__(what, hint="it may have done what it was asked: look with jira-hub status")


class NotRunning(Stop):
    """Nothing listens at the hub's address."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"No hub answers at {address}. Start it with: jira-hub serve",
            document={"code": "not_running", "detail": f"no hub answers at {address}", "hint": "jira-hub serve"},
        )


def _document(answer: httpx2.Response) -> Any:
    """The JSON of a good answer, `None` of an empty one; raises `Refused` for every other."""
    if answer.is_success and not answer.content:
        return None
    try:
        document = answer.json()
    except ValueError as error:
        raise Stop(
            f"{answer.url} answered {answer.status_code} with something else than JSON",
            hint="is another program at the hub's address?",
        ) from error
    if answer.is_success:
        return document
    raise Refused(answer.status_code, document if isinstance(document, dict) else {"detail": str(document)})
