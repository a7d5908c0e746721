"""The hub's command line, `jira-hub`: a face of the HTTP API. Heavy imports stand inside the commands."""

from pathlib import Path
from typing import Annotated

import typer

from hub.cli import approving  # noqa: F401  # adds its command to the group of batches
from hub.cli.agents import agent_app
from hub.cli.applying import apply
from hub.cli.batches import batch_app, command_app, retry, watch
from hub.cli.importing import import_folder
from hub.cli.issues import issue_app, note_app, refresh
from hub.cli.keeping import backup, migrate, restore
from hub.cli.planning import plan
from hub.cli.running import init, pause, resume, serve, settings_app, status
from hub.cli.services import doctor, service_app
from hub.cli.session import Program, Session
from relay.command_line import version_option

app = typer.Typer(
    name="jira-hub",
    cls=Program,
    no_args_is_help=True,
    rich_markup_mode=None,  # help in plain text: rich would cost more than everything else that --help does
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def start(
    context: typer.Context,
    *,
    home: Annotated[
        Path | None, typer.Option("--home", envvar="JIRA_HUB_HOME", help="Where settings, token and database live.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", envvar="JIRA_HUB_URL", help="Address of the hub.")] = None,
    link: Annotated[
        str | None, typer.Option("--link", metavar="NAME", help="Which link is meant, where the hub has several.")
    ] = None,
    version: Annotated[bool, version_option("jira-hub")] = False,
) -> None:
    """A durable queue of desired Jira states, carried to an air-gapped agent through a shared folder."""
    context.obj = Session(home, url, link)


for command in (
    *(init, serve, doctor, plan, apply, status, watch, retry, refresh, pause, resume),
    *(backup, restore, migrate),
):
    app.command(command.__name__)(command)
app.command("import")(import_folder)
for group, name in (
    (batch_app, "batch"),
    (command_app, "command"),
    (issue_app, "issue"),
    (note_app, "note"),
    (agent_app, "agent"),
    (service_app, "service"),
    (settings_app, "settings"),
):
    app.add_typer(group, name=name)


def main() -> None:
    """The console script."""
    app(prog_name="jira-hub")
