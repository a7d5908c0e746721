"""Request bodies: from raw bytes to strict models, everything hostile refused on the way."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from hub.batching import nearest
from hub.errors import Refusal, Said, Wrong, invalid
from hub.wording import one_fault_each, worded
from protocol.text import has_lone_surrogate

MAX_BODY: Final = 32 * 1024 * 1024  # the relay's own limit of a message: a reading of some thousand issues
MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 19  # of a 64-bit integer
M = TypeVar("M", bound=BaseModel)


async def body_as(model: type[M], request: Request, *, optional: bool = False) -> M:
    """The body as `model`; with `optional` an absent body is the model of nothing. Raises `Refusal`."""
    raw = await _raw(request)
    if optional and not raw.strip():
        value: Any = {}
    else:
        _check_content_type(request)
        value = parsed(raw)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found_here = one_fault_each(error.errors(include_url=False))[:100]
        raise invalid(tuple(_wrong(model, place, found) for place, found in found_here)) from error


def parsed(raw: bytes) -> Any:
    """The value of one JSON document; raises `Refusal` for anything JSON, or a database, would not take."""
    try:
        value = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number, parse_int=_integer
        )
    except (ValueError, RecursionError) as error:
        raise _not_json(str(error)) from error
    if not _shallow(value):
        raise _not_json(f"nested deeper than {MAX_DEPTH}")
    if b"\\u" in raw and not _storable(value):  # raw UTF-8 cannot hold half a pair, only an escape can
        raise _not_json("half of a surrogate pair, or a NUL")
    return value


async def _raw(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_BODY:
        raise _too_large()
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BODY:
                raise _too_large()
            chunks.append(chunk)
    except ClientDisconnect as error:
        raise _not_json("the body ends early") from error
    return b"".join(chunks)


def _check_content_type(request: Request) -> None:
    """A form of a foreign page cannot send JSON without asking first (security.md)."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        text = Said("the body must be application/json", "тело должно быть application/json")
        raise invalid((Wrong("content-type", text),))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > _MAX_DIGITS or not -(2**63) <= int(text) < 2**63:
        raise ValueError("an integer beyond 64 bits")
    return int(text)


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
        ]
        if not level:
            return True
    return False


def _storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and not has_lone_surrogate(value)  # PostgreSQL's texts end at a NUL
    if isinstance(value, dict):
        return all(_storable(name) and _storable(inner) for name, inner in value.items())
    return all(_storable(inner) for inner in value) if isinstance(value, list) else True


def _not_json(why: str) -> Refusal:
    return invalid((Wrong(None, Said(f"the body is no JSON document: {why}", f"тело не документ JSON: {why}")),))


def _too_large() -> Refusal:
    limit = MAX_BODY // (1024 * 1024)
    return Refusal("too_large", Said(f"the body is larger than {limit} MiB", f"тело больше {limit} МиБ"))


def _wrong(model: type[BaseModel], place: Sequence[str | int], found: Mapping[str, Any]) -> Wrong:
    """One of pydantic's errors in our shape; beside an unknown name stand the known ones most like it."""
    detail, hint = worded(found)
    if found["type"] == "extra_forbidden" and len(place) == 1:
        hint = nearest(str(place[0]), list(model.model_fields))
    return Wrong(".".join(str(part) for part in place) or None, detail, hint)
