"""`agent …`: the machine beside Jira, as far as the hub has a say in it."""

from typing import Any

import typer

from hub.cli.output import show_answer, show_fields, show_note
from hub.cli.session import AsJson, login_name, session

agent_app = typer.Typer(help="The agent of the link: show, adopt.", no_args_is_help=True, rich_markup_mode=None)


@agent_app.command("show")
def agent_show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """How the agent is, as it last said."""
    with session(context).connect() as hub:
        answer = hub.get("/status")["agent"]
    show_answer(answer, _show_agent, as_json=as_json)


def _show_agent(agent: Any) -> None:
    from hub.cli.watching import agent_state

    rest = {name: value for name, value in agent.items() if name not in ("online", "redelivered")}
    show_fields({"agent": agent_state(agent), **rest, "redelivered": len(agent["redelivered"]) or None})


@agent_app.command("adopt")
def agent_adopt(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Let another agent take the link over: the next one that asks for work holds it."""
    with session(context).connect() as hub:
        answer = hub.send("POST", "/adopt", {"author": login_name()})
    show_answer(answer, lambda _: show_note("The next agent that asks for work holds the link"), as_json=as_json)
