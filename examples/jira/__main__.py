"""`python -m examples.jira`: the fake as a process of its own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from examples.jira.app import create_app
from examples.jira.catalogue import SERVICE_USER
from examples.jira.serving import listen, serve
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings


def main(
    port: Annotated[int, typer.Option(help="Port on the host; 0 takes a free one.")] = 8080,
    data: Annotated[Path | None, typer.Option(help="Folder of the database; without it nothing is kept.")] = None,
    token: Annotated[str, typer.Option(help="Personal access token of the service user.")] = DEFAULT_TOKEN,
    project: Annotated[str, typer.Option(help="Key of the main project.")] = "AURORA",
    issues: Annotated[int, typer.Option(min=41, help="How many issues to begin with.")] = 240,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    first_custom_field: Annotated[int, typer.Option(help="Number of the first custom field.")] = 10580,
) -> None:
    """Run a fake Jira Data Center 9.12: its page on /, REST under /rest, the control API under /control."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
    listener = listen(host, port)
    url = f"http://{host}:{listener.getsockname()[1]}"
    settings = JiraSettings(
        database=str(data / "jira.sqlite3") if data else ":memory:",
        project=project,
        base_url=url,
        issues=issues,
        first_custom_field=first_custom_field,
        tokens={token: SERVICE_USER, "petrova-token": "petrova"},
    )
    app = create_app(settings)
    Console().print(f"fake Jira listens on {url}", highlight=False, soft_wrap=True)
    serve(app, listener)
    app.jira.close()


if __name__ == "__main__":
    typer.run(main)
