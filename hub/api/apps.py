"""The two apps: one with every route for loopback, one with the agent's routes for a relay."""

from collections.abc import Collection

from fastapi import FastAPI

from hub.api import agent_routes, backup_routes, health_routes, mirror_routes, people_routes, plan_routes, problems
from hub.api.context import Context
from hub.api.document import document
from hub.api.guard import Guard
from hub.api.serving import Served


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
    return app


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
    return app
