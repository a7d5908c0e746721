"""`agent …`: the machine beside Jira, as far as the hub has a say in it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli.exits import CONFLICT, USAGE, Stop
from hub.cli.output import show_answer, show_fields, show_note
from hub.cli.session import AsJson, login_name, session

agent_app = typer.Typer(
    help="The agent of the link: show, adopt, pair, bundle.", no_args_is_help=True, rich_markup_mode=None
)


@agent_app.command("show")
def agent_show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """How the agent is, as it last said."""
    with session(context).connect() as hub:
        answer = hub.get("/status")["agent"]
    show_answer(answer, _show_agent, as_json=as_json)


def _show_agent(agent: Any) -> None:
    from hub.cli.watching import agent_state

    told = {"agent": agent_state(agent), **{name: value for name, value in agent.items() if name != "online"}}
    told["redelivered"] = len(agent["redelivered"]) or None
    profile = {name: value for name, value in (agent["share_profile"] or {}).items() if value is not None}
    told["share_profile"] = ", ".join(f"{name} {value}" for name, value in profile.items())
    show_fields(told)


@agent_app.command("adopt")
def agent_adopt(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Let another agent take the link over: the next one that asks for work holds it."""
    with session(context).connect() as hub:
        answer = hub.send("POST", "/adopt", {"author": login_name()})
    show_answer(answer, lambda _: show_note("The next agent that asks for work holds the link"), as_json=as_json)


@agent_app.command("bundle")
def agent_bundle(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where the wheel goes; else this folder.")] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Pack the release that runs here into one wheel, to be carried to the agent's machine."""
    from hub.bundling import make_bundle

    try:
        made = make_bundle(folder)
    except OSError as error:
        raise Stop(f"{error.filename or folder}: {error.strerror}", hint="name another folder") from error
    document = {"wheel": str(made.path), "version": made.version, "sha256": made.sha256}
    show_answer(document, show_fields, as_json=as_json)
    show_note(f"On the agent's machine: jira-agent upgrade {made.path.name} --sha256 {made.sha256}")
    show_note(
        f"The first time, with the wheels it depends on: pip install --no-index --find-links DIR {made.path.name}"
    )


@agent_app.command("pair")
def agent_pair(
    context: typer.Context,
    *,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Hide what the messages say as well.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Replace the key of an earlier pairing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the key that seals what hub and agent write into the share; shown once, to be typed on the other machine."""
    from hub.cli.home import settings_of
    from relay import RelayError
    from relay.pairing import new_key_text, store_key

    settings = settings_of(session(context).home)
    folder = session(context).of_link(settings).folder
    if folder is None:
        raise Stop("no share is set", hint="jira-hub init --share DIR --link NAME", code=USAGE)
    text = new_key_text(hides=encrypt)
    try:
        path = store_key(folder, text, side="hub", state_dir=settings.home / "relay", again=again)
    except (RelayError, OSError) as error:
        raise Stop(str(error), hint="a key that is lost is replaced on both sides: --again", code=CONFLICT) from error
    show_answer({"key": text, "kept_in": str(path)}, lambda made: show_fields({"key": made["key"]}), as_json=as_json)
    show_note(
        "Type it on the agent's machine: folder-relay pair SHARE/LINK --side agent --typed. It is not shown again."
    )
    show_note("Then start hub and agent anew: from then on nothing that is not sealed with it counts.")
