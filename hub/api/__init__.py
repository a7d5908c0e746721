"""The HTTP face: `create_app` for people on loopback, `create_agent_app` for the relay. No rule and no SQL in here."""

from hub.api.apps import create_agent_app, create_app

__all__ = ["create_agent_app", "create_app"]
