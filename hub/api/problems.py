"""Every refusal of the API in the one shape `protocol.errors.Problem`, in the caller's language."""

import logging
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hub.errors import Language, Refusal, Said, Wrong, invalid
from hub.store.opening import operating_faults
from hub.wording import worded

_log = logging.getLogger(__name__)
_BY_STATUS = {401: "unauthorised", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def language_of(accept_language: str) -> Language:
    """`ru` where the caller prefers it to English, else `en`."""
    best: tuple[float, Language] = (0.0, "en")
    for item in accept_language.split(","):
        name, _, parameters = item.strip().partition(";")
        weight = _weight(parameters)
        short = name.strip().lower()[:2]
        if short in ("en", "ru") and weight > best[0]:
            best = (weight, "ru" if short == "ru" else "en")
    return best[1]


def refused(refusal: Refusal, request: Request) -> Response:
    """The refusal as a response."""
    language = language_of(request.headers.get("accept-language", ""))
    headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
    return Response(
        refusal.problem(language).model_dump_json(exclude_none=True),
        status_code=refusal.status,
        media_type="application/json",
        headers=headers,
    )


def install(app: FastAPI) -> None:
    """Make the app answer in this shape whatever goes wrong."""

    async def on_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return refused(error, request)

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return refused(invalid(tuple(_wrong(found) for found in error.errors())), request)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return refused(_of_status(error.status_code, request), request)

    async def on_database(request: Request, error: Exception) -> Response:
        # A full disk, a locked file: the operator's matter, and the caller may come again.
        _log.error("the database refuses: %s", error)
        text = Said(f"the database refuses: {error}", f"база данных недоступна: {error}")
        hint = Said(
            "look at the hub's disk and database: jira-hub doctor", "проверьте диск и базу данных: jira-hub doctor"
        )
        return refused(Refusal("unavailable", text, hint=hint), request)

    app.add_exception_handler(Refusal, on_refusal)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    for fault in operating_faults():
        app.add_exception_handler(fault, on_database)
    app.add_exception_handler(OSError, on_database)


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def _of_status(status: int, request: Request) -> Refusal:
    code = _BY_STATUS.get(status, "invalid")
    path = f"{request.method} {request.url.path}"
    return Refusal(code, Said(f"{path}: there is no such address here", f"{path}: такого адреса здесь нет"))


def _wrong(found: Any) -> Wrong:
    place = [str(part) for part in found["loc"] if part not in ("query", "path", "body", "header")]
    return Wrong(".".join(place) or None, *worded(found))
