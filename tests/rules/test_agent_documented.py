"""docs/agent.md and the code name the same commands, settings and probes."""

import re
from pathlib import Path

import typer

from agent.cli import app
from agent.config import AgentConfig

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/agent.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> set[str]:
    """The names in backquotes in the first column of the table under this heading."""
    part = TEXT.partition(heading)[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_command_is_documented_and_no_other() -> None:
    group = typer.main.get_command(app)
    assert first_cells("# The agent's command line") == {f"jira-agent {name}" for name in group.commands}  # type: ignore[attr-defined]


def test_every_setting_is_documented_and_no_other() -> None:
    assert first_cells("## Settings") == set(AgentConfig.model_fields)


def test_every_probe_is_documented() -> None:
    documented = first_cells("## What `check` looks at")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "agent/check").glob("*.py")]
    named = {name for source in sources for name in re.findall(r'(?:Probe|_failed)\(f?"([^"{]+)', source)}
    named |= set(re.findall(r'^    "([a-z ]+)": listing', "\n".join(sources), re.MULTILINE))
    assert {name.strip() for name in named} <= {
        name.removesuffix(" …").replace(" «…»", " «") for name in documented
    } | {"create"}
