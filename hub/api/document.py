"""The OpenAPI document made whole: bodies, which routes read by themselves, and every refusal there can be."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel

from protocol.errors import CODES, Problem

_REF: Final = "#/components/schemas/{model}"
_BY_STATUS: Final[Mapping[int, str]] = {
    401: "The bearer token is missing or wrong.",
    403: "Not from this host or page.",
    404: "Nothing bears this id or key.",
    405: "Not with this method.",
    409: "What stands there says otherwise.",
    413: "The body is too large.",
    422: "The request is not valid: every fault of it together.",
    426: "The agent is too old.",
    503: "The link is paused, or the database refuses.",
}
assert set(_BY_STATUS) == set(CODES.values())
# What any route may answer; the rest depends on the route.
_ALWAYS: Final = (401, 403, 422, 503)


def takes(model: type[BaseModel], *, optional: bool = False) -> dict[str, Any]:
    """`openapi_extra` of a route that reads this model from its body by itself (hub.api.bodies)."""
    schema = model.model_json_schema(ref_template=_REF)
    return {"requestBody": {"required": not optional, "content": {"application/json": {"schema": schema}}}}


def document(app: FastAPI, *, with_token: bool) -> None:
    """Have `app` serve its whole document."""
    plain = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(plain(), with_token=with_token)
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign]  # the way FastAPI's own manual has it


def _completed(found: dict[str, Any], *, with_token: bool) -> dict[str, Any]:
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(_with_parts(Problem))
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            _hoist(operation, schemas)
            _complete(path, method, operation)
    if with_token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
        found["paths"]["/api/v1/health"]["get"]["security"] = []
    return found


def _hoist(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Parts of a body's schema stand beside all others, where references look for them."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schemas.update(content["schema"].pop("$defs", {}))


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    answers: dict[str, Any] = operation.setdefault("responses", {})
    statuses = set(_ALWAYS)
    if "{" in path:
        statuses.add(404)
    if method in ("post", "put", "delete") or path.endswith("/claim"):
        statuses.add(409)
    if "requestBody" in operation:
        statuses.add(413)
    if path.endswith("/claim"):
        statuses.add(426)
    for status in sorted(statuses):
        answers[str(status)] = {
            "description": _BY_STATUS[status],
            "content": {"application/json": {"schema": {"$ref": _REF.format(model="Problem")}}},
        }


def _with_parts(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=_REF)
    return {**schema.pop("$defs", {}), model.__name__: schema}
