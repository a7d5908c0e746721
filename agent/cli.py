"""The agent's command line, `jira-agent`: arguments, output and exit codes; the work is done elsewhere."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from agent.access import Access
from agent.config import AgentConfig, ConfigFault, config_file, load
from agent.hub import Exchange, HubAnswer, over_relay
from agent.journal import JournalFile, read_records
from agent.lock import AlreadyRunning, exclusive
from agent.printing import Printer
from agent.runner import Runner
from agent.serve import assemble, names_cache, settings_of
from agent.site import SiteFault
from agent.stopping import Stop, StoppableClock, Stopped
from agent.telling import status_told
from protocol.messages import AGENT_VERSION
from relay import Client, RelayError, StateUnusable
from relay.clock import SystemClock, SystemIds
from relay.command_line import Ended, Program, version_option

if TYPE_CHECKING:
    import httpx2

LOAD_AFTER: Final = 0.1  # seconds; the claim is under way by then

app = typer.Typer(
    name="jira-agent",
    cls=Program,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXAMPLE = """\
# The agent's settings. The token does not belong here: put it into `token_file` (chmod 600) or JIRA_AGENT_TOKEN.
jira_url = "https://jira.example.org"
token_file = "{home}/token"
project = "AURORA"
board_id = 12
share = "/mnt/share"
link = "main"

# Logical link types, by the name of Jira's type (not the text of one direction), or {{ id = "10200" }}.
[link_types]
"блокирует" = {{ name = "Blocks" }}
"""


@app.callback()
def start(
    *,
    version: Annotated[bool, version_option("jira-agent", f", protocol {AGENT_VERSION}")] = False,
) -> None:
    """Executes the hub's commands on a Jira that only this machine can reach, slowly and once."""


@app.command()
def init() -> None:
    """Write a configuration to start from; never overwrites one."""
    path = config_file()
    if path.exists():
        _end(f"{path} is there already; edit it, or remove it first")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(EXAMPLE.format(home=path.parent), encoding="utf-8")
    typer.echo(f"wrote {path}: fill it in, then run `jira-agent check`")


@app.command()
def check(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    hub_wait: Annotated[
        float, typer.Option(min=0, max=600, help="Seconds the hub may take to answer; 0: do not ask it.")
    ] = 15.0,
) -> None:
    """Probe Jira, the configuration and the share; exit code 1 if anything fails."""
    # Imported here: `--help` and `run` need none of the probes.
    from agent.check import probes

    config = _config()
    found = probes(config, SystemClock(), hub_wait=hub_wait)
    if as_json:
        typer.echo(json.dumps([probe.as_json() for probe in found], ensure_ascii=False, indent=2))
    else:
        for probe in found:
            typer.echo(str(probe))
    raise typer.Exit(1 if any(probe.state == "fail" for probe in found) else 0)


@app.command()
def run(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after one command, or when the queue is empty.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and compare one command, write nothing; uses up one delivery.")
    ] = False,
    share: Annotated[Path | None, typer.Option(help="The folder both sides see.")] = None,
    link: Annotated[str | None, typer.Option(help="Name of the link.")] = None,
    jira_url: Annotated[str | None, typer.Option(help="Address of Jira.")] = None,
) -> None:
    """Work until stopped: one line per command. SIGTERM or Ctrl-C ends it cleanly."""
    config = _config(share=share, link=link, jira_url=jira_url)
    clock, stop = SystemClock(), Stop()
    stop.hear()
    try:
        with (
            exclusive(config.journal, clock),
            _runner(config, StoppableClock(clock, stop), stop, dry_run=dry_run) as (runner, printer),
        ):
            Thread(target=_load_the_rest, args=(clock,), name="loading", daemon=True).start()
            _work(runner, StoppableClock(clock, stop), stop, printer.sleep, once=once or dry_run)
    except AlreadyRunning as error:
        _end(str(error))
    except SiteFault as error:
        _end(f"the configuration does not fit this Jira: {error}")
    except StateUnusable as error:
        _end(f"{error}, then start the agent again")
    except RelayError as error:
        _end(f"the share cannot be used: {error}")
    except Stopped:
        typer.echo("остановлен (stopped: nothing is left half-written)")


@contextmanager
def _runner(
    config: AgentConfig, clock: StoppableClock, stop: Stop, *, dry_run: bool
) -> Iterator[tuple[Runner, Printer]]:
    access = _access(config)
    journal = JournalFile(config.journal, clock)
    printer = Printer(clock)
    if journal.damaged:
        typer.echo(f"journal: {journal.damaged} damaged lines skipped", err=True)
    with Client(config.folder, side="agent", state_dir=config.state_dir, key_file=config.pairing_key_file) as client:
        runner = assemble(
            journal=journal,
            access=access,
            wanted=config.wanted(),
            settings=settings_of(config, dry_run=dry_run),
            jira_transport=_way_to(access),
            exchange=_stoppable(over_relay(client), stop),
            clock=clock,
            ids=SystemIds(),
            names=names_cache(config.journal),
            read_gap=config.read_gap,
            claim_wait=config.claim_wait_seconds,
            listener=printer.show,
            look_again=config.access_again,
        )
        typer.echo(f"started: {config.jira_url}, {config.project}, {config.folder}")
        share = client.status()
        if share.share != "ok":
            todo = "mount it; `jira-hub init` on the other side makes the link"
            typer.echo(f"the share is {share.share}: {share.detail}: {todo}; waiting for it", err=True)
        yield runner, printer


def _way_to(access: Access) -> "Callable[[], httpx2.BaseTransport]":
    """The network, when Jira is first asked. What is wrong with a CA file or a proxy is told at once."""
    if access.ca_file is not None or access.proxy is not None:
        from agent.jira import network

        try:
            made = network(access)
        except (OSError, ValueError) as error:
            # A proxy's address may hold a password, and its text is in a ValueError.
            said = f"ca_file {access.ca_file}: {error}" if isinstance(error, OSError) else "proxy: no http:// address"
            _end(f"{said}; correct it in {config_file()}")
        return lambda: made

    def later() -> "httpx2.BaseTransport":
        from agent.jira import network

        return network(access)

    return later


def _load_the_rest(clock: SystemClock) -> None:
    """What the first command needs is loaded while the hub holds the first claim; a release that is replaced later
    under the running agent then finds nothing left to load."""
    clock.sleep(LOAD_AFTER)
    import agent.jira

    assert agent.jira


def _stoppable(exchange: Exchange, stop: Stop) -> Exchange:
    """Waiting for the hub may be broken off: whatever was asked is asked again under its id."""

    def open_exchange(method: str, path: str, body: Any, request_id: str | None, timeout: float) -> HubAnswer:
        with stop.open_to_stop():
            return exchange(method, path, body, request_id, timeout)

    return open_exchange


def _work(runner: Runner, clock: StoppableClock, stop: Stop, sleep: Callable[[float], None], *, once: bool) -> None:
    try:
        while True:
            stop.check()
            wake = runner.step(clock.monotonic())
            if once and (runner.ended or runner.idle):
                break
            sleep(wake - clock.monotonic())
    except Stopped:
        runner.stop()
        raise
    runner.stop()


@app.command()
def status(*, as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False) -> None:
    """What the journal says: the command in hand, what is unsettled, what comes first at the next start."""
    config = _config()
    found = status_told(config.journal)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for name, value in found.items():
        typer.echo(f"{name}: {'—' if value is None else value}")


@app.command("collect")
def collect_archive(
    *, out: Annotated[Path | None, typer.Option(help="Where to; by default a file named by the time, here.")] = None
) -> None:
    """Pack what whoever helps needs: versions, configuration, journal. No secrets, no texts of people's."""
    from agent.collect import collect

    config = _config()
    clock = SystemClock()
    stamp = datetime.fromtimestamp(clock.wall()).astimezone().strftime("%Y%m%d-%H%M%S")
    target = out or Path(f"jira-agent-{stamp}.tar.gz")
    try:
        collect(config, target, clock, status_told(config.journal))
    except OSError as error:
        _end(f"{target}: {error.strerror}")
    typer.echo(f"wrote {target}: look through it before you pass it on")


@app.command()
def upgrade(
    place: Annotated[Path, typer.Argument(help="A wheel of jira-hub, or a folder with it and what it depends on.")],
    *,
    sha256: Annotated[str | None, typer.Option(help="What the wheel's SHA-256 must be.")] = None,
    older: Annotated[bool, typer.Option("--older", help="Also go back to an older release.")] = False,
) -> None:
    """Install another release from files carried to this machine; the agent must be stopped first."""
    from agent.upgrading import UpgradeFault, install, numbers, release_at

    try:
        with exclusive(_config().journal, SystemClock()), TemporaryDirectory() as private:
            release, ours = release_at(place, Path(private)), version("jira-hub")
            typer.echo(f"{release.path.name}: SHA-256 {release.sha256}")
            if sha256 is not None and sha256.lower() != release.sha256:
                _end(f"that is not {sha256}: nothing was installed")
            if release.version == ours:
                _end(f"{ours} is installed already")
            if numbers(release.version) < numbers(ours) and not older:
                _end(f"{release.version} is older than {ours}: say --older to go back")
            install(release)
    except (AlreadyRunning, UpgradeFault) as error:
        _end(str(error))
    typer.echo(f"jira-hub {ours} → {release.version}: start the agent again, `jira-agent check` first")


@app.command()
def journal(
    *,
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=100_000, help="How many records.")] = 50,
    command: Annotated[int | None, typer.Option("--command", help="Only those of this command.")] = None,
) -> None:
    """The newest records of the journal, one JSON object a line."""
    records = [one for one in read_records(_config().journal) if one is not None]
    if command is not None:
        records = [one for one in records if getattr(one, "command_id", None) == command]
    for record in records[-last:]:
        at = datetime.fromtimestamp(record.at).astimezone().isoformat(timespec="seconds")
        typer.echo(
            json.dumps(
                {"at": at, **record.model_dump(mode="json", exclude={"at"}, exclude_none=True)}, ensure_ascii=False
            )
        )


def _config(**flags: Any) -> AgentConfig:
    try:
        return load(**flags)
    except ConfigFault as error:
        _end(str(error))


def _access(config: AgentConfig) -> Access:
    try:
        return config.access()
    except ConfigFault as error:
        _end(str(error))


def _end(text: str) -> NoReturn:
    raise Ended(text)


def main() -> None:
    """Entry point of `jira-agent`."""
    app()
