"""The served OpenAPI document holds: whatever is asked by it, right or wrong, gets an answer that stands in it."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from hub.api import create_agent_app
from hub.cli.home import read_token, settings_of
from tests.conftest import PROFILE
from tests.faces.filled_mirror import fill
from tests.faces.running_hub import RunningHub, running_hub
from tests.faces.small_hub import SmallHub
from tests.promised import Covered

CASES: Final = {"quick": 300, "ci": 5_000}.get(PROFILE, 50_000)
ROUNDS: Final = 20  # a bound, far above what is ever needed
CHECKS: Final = (not_a_server_error, status_code_conformance, content_type_conformance)
# A stream that ends with its caller: asked for and closed in tests of its own.
ENDLESS: Final = frozenset({"/api/v1/events"})


class Served:
    """A hub with something in it, and its document as it serves it."""

    def __init__(self, hub: RunningHub) -> None:
        self.service = hub.service
        self.headers = {"authorization": f"Bearer {read_token(settings_of(hub.home))}"}
        self.schema = schemathesis.openapi.from_url(f"{hub.address}/api/v1/openapi.json", headers=self.headers)
        self.operations: list[Any] = [
            found.ok() for found in self.schema.get_all_operations() if found.ok().path not in ENDLESS
        ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running_hub(tmp_path_factory.mktemp("hub") / "home", copies=True) as hub:
        fill(hub.service, {"key": "AURORA-1", "summary": "Отчёт"}, {"key": "AURORA-2"})
        wish = {"type": "ensure_fields", "key": "AURORA-1", "duedate": "2026-10-23"}
        for number in range(3):
            hub.service.create_batch("main", "anna", f"batch {number}", [wish], held=number == 1)
        yield Served(hub)


def cases_answered(strategy: Any, headers: dict[str, str], most: int) -> int:
    """Ask `most` different cases of one operation at most; the number asked. Fails on the first wrong answer."""
    asked = 0

    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def answered(case: Any) -> None:
        nonlocal asked
        if case.path.endswith("/claim"):
            case.query = {**(case.query or {}), "wait": 0}  # nobody is kept waiting here
        response = case.call(headers=headers, timeout=30)
        asked += 1
        case.validate_response(response, checks=list(CHECKS))

    answered()
    return asked


@pytest.mark.part("T8")
@pytest.mark.timeout(1500)  # 5,000 cases where everything is required
def test_every_case_the_document_allows_or_forbids_gets_a_documented_answer(served: Served, covered: Covered) -> None:
    """No 5xx but the documented ones' own cause, no status that is not in the document; counted, not sampled."""
    strategies = [
        operation.as_strategy(generation_mode=mode)
        for operation in served.operations
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        if mode is GenerationMode.POSITIVE or operation.body or any(operation.iter_parameters())
    ]
    asked = 0
    for _ in range(ROUNDS):  # an operation of few values runs out of different cases: the others make up for it
        each = -(-(CASES - asked) // len(strategies))
        for strategy in strategies if each > 0 else ():
            served.service.change_settings("main", {"paused": False})  # a paused link answers claims with 503, rightly
            asked += cases_answered(strategy, served.headers, each)
    assert asked >= CASES
    covered("T8", asked)


def test_the_document_tells_bodies_refusals_and_the_token(served: Served) -> None:
    document = served.schema.raw_schema
    assert document["security"] == [{"token": []}]
    assert {"Problem", "Fault"} <= set(document["components"]["schemas"])
    silent = [
        f"{method} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if not {"401", "403", "422", "503"} <= set(operation["responses"])
    ]
    assert silent == []
    batch = document["paths"]["/api/v1/batches"]["post"]
    assert batch["requestBody"]["required"]
    body = batch["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["required"]) == {"author", "title", "commands"}
    assert "409" in document["paths"]["/api/v1/agent/claim"]["post"]["responses"]


def test_every_reference_of_the_document_leads_somewhere(served: Served) -> None:
    document = served.schema.raw_schema

    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for inner in node.values():
                yield from references(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from references(inner)

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known


def test_the_relays_document_has_the_agents_routes_alone() -> None:
    hub = SmallHub()
    try:
        document = create_agent_app(hub.context).openapi()
        assert all(path.startswith("/api/v1/agent/") for path in document["paths"])
        assert "security" not in document
    finally:
        hub.close()


@pytest.mark.parametrize("path", ["/api/v1/batches/9007199254740993", "/api/v1/commands/0", "/api/v1/plans/x"])
def test_a_number_that_is_no_id_is_refused(path: str) -> None:
    hub = SmallHub()
    try:
        assert hub.people.get(path).status_code == 422
        assert hub.people.get("/api/v1/batches", params={"link": "no/link"}).status_code == 422
        assert hub.people.get("/api/v1/issues", params={"text": "\0"}).status_code == 422
        note = hub.people.put("/api/v1/notes/AURORA-1", json={"text": "a\0b"})
        assert note.status_code == 422
    finally:
        hub.close()
