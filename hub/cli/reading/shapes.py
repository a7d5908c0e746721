"""Which JSON types each parameter of a command may have, read from the command models' own schema."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from protocol.commands import MODELS


@cache
def parameter_kinds(command_type: object) -> Mapping[str, frozenset[str]]:
    """JSON types by parameter name (`string`, `array`, `boolean`, …); empty for a type that does not exist."""
    model = next((model for name, model in MODELS.items() if name == command_type), None)
    if model is None:
        return {}
    properties: dict[str, Any] = model.model_json_schema()["properties"]
    return {name: frozenset(_types(schema)) for name, schema in properties.items()}


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    if "type" in schema:
        yield schema["type"]
    for option in schema.get("anyOf", ()):
        yield from _types(option)
