"""The two apps: one with every route for loopback, one with the agent's routes for a relay."""

from collections.abc import Collection
from importlib.metadata import version

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hub.api import agent_routes, backup_routes, health_routes, mirror_routes, people_routes, plan_routes, problems
from hub.api.context import Context
from hub.api.document import document
from hub.api.guard import Guard
from hub.api.logged import Logged
from hub.api.serving import Served
from protocol.messages import HUB_VERSION


def create_app(
    context: Context,
    *,
    token: str,
    hosts: Collection[str],
    served: Served | None = None,
) -> FastAPI:
    """All routes, for callers that know the token. `hosts`: every exact `Host` with port the hub is called by.

    `served`: the links that may be named; None: any, where no relay runs.
    """
    app = _app(context, link=None)
    app.state.served = served
    app.include_router(agent_routes.router)
    app.include_router(people_routes.router)
    app.include_router(plan_routes.router)
    app.include_router(mirror_routes.router)
    app.include_router(backup_routes.router)
    app.include_router(health_routes.router)
    app.include_router(health_routes.at_the_root)
    document(app, with_token=True)
    app.add_middleware(Guard, token=token, hosts=hosts)
    return app


def create_agent_app(context: Context, *, link: str = "main") -> FastAPI:
    """The agent's routes of one link; who reaches this app is decided by the share, so there is no token."""
    app = _app(context, link=link)
    app.include_router(agent_routes.router)
    document(app, with_token=False)
    app.add_middleware(_Named)
    return app


class _Named:
    """Tells the hub's release with every answer: `jira-agent check` shows it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._header = (HUB_VERSION.encode(), version("jira-hub").encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], self._header]
            await send(message)

        await self._app(scope, receive, named)


def _app(context: Context, *, link: str | None) -> FastAPI:
    app = FastAPI(
        title="jira-hub",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page loads scripts from afar
        redoc_url=None,
    )
    app.state.context = context
    app.state.link = link
    app.state.served = None
    problems.install(app)
    app.add_middleware(Logged)
    return app
