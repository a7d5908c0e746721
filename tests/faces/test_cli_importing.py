"""`jira-hub import DIR` against the real hub."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli import app
from tests.faces.filled_mirror import fill
from tests.faces.running_hub import RunningHub, running_hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    with running_hub(tmp_path / "home") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "jira-sync"
    (made / "notes").mkdir(parents=True)
    return made


def run(hub: RunningHub, *arguments: str | Path) -> Result:
    environment = {"JIRA_HUB_HOME": str(hub.home), "JIRA_HUB_URL": hub.address, "LOGNAME": "ivanov"}
    return CliRunner().invoke(app, [str(each) for each in arguments], env=environment)


def answered(hub: RunningHub, *arguments: str | Path, code: int = 0) -> Any:
    result = run(hub, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def link(source: str, target: str) -> dict[str, str]:
    return {"source": source, "target": target, "link_type": "связанные"}


def test_links_the_other_way_round_are_told_apart_from_missing_ones(hub: RunningHub, folder: Path) -> None:
    """The seeds' case: three links stand the other way round, none is missing."""
    turned = [link(f"AURORA-{number}", "AURORA-9") for number in (1, 2, 3)]
    fill(hub.service, {"key": "AURORA-9", "links": [*turned, link("AURORA-9", "AURORA-4")]})
    rows = ["AURORA-9;AURORA-1", "AURORA-9;AURORA-2", "AURORA-9;AURORA-3", "AURORA-9;AURORA-4"]
    text = "source;target;type\n" + "".join(f"{row};связанные\n" for row in rows)
    (folder / "links.csv").write_text(text, encoding="utf-8-sig")
    report = answered(hub, "import", folder)
    assert report["missing_links"] == []
    assert [item["target"] for item in report["reversed_links"]] == ["AURORA-1", "AURORA-2", "AURORA-3"]
    assert (report["counts"]["missing_links"], report["counts"]["reversed_links"]) == (0, 3)
    assert report["counts"]["links_present"] == 1


def test_issues_that_jira_never_showed_can_be_searched_and_the_others_stay(hub: RunningHub, folder: Path) -> None:
    fill(hub.service, {"key": "AURORA-1", "summary": "as Jira has it"})
    (folder / "issues.csv").write_text(
        "key,summary,labels,duedate\nAURORA-1,as the list has it,,\nAURORA-2,Отчёт,a|b,2026-10-23\n", encoding="utf-8"
    )
    for _ in range(2):
        report = answered(hub, "import", folder)
        assert report["counts"]["issues_written"] == 1
    assert answered(hub, "issue", "show", "AURORA-1")["summary"] == "as Jira has it"
    (found,) = answered(hub, "issue", "list", "--text", "отчёт")["items"]
    assert (found["state"], found["labels"], found["duedate"]) == ("imported", ["a", "b"], "2026-10-23")


def test_notes_come_from_a_list_or_from_files_and_a_persons_own_are_kept(hub: RunningHub, folder: Path) -> None:
    (folder / "notes.csv").write_text('key,text\nAURORA-1,"ask ""Boris""\nand Anna"\n', encoding="utf-8")
    (folder / "notes" / "AURORA-2.md").write_text("# Heading\n", encoding="utf-8")
    assert answered(hub, "import", folder)["counts"]["notes"] == 2
    assert answered(hub, "note", "get", "AURORA-1")["text"] == 'ask "Boris"\nand Anna'
    run(hub, "note", "set", "AURORA-2", "mine")
    assert answered(hub, "import", folder)["notes_kept"] == ["AURORA-2"]
    assert answered(hub, "note", "get", "AURORA-2")["text"] == "mine"
    answered(hub, "import", folder, "--replace-notes")
    assert answered(hub, "note", "get", "AURORA-2")["text"] == "# Heading"


def test_one_fault_anywhere_and_nothing_is_written(hub: RunningHub, folder: Path) -> None:
    (folder / "issues.csv").write_text("key,sumary\nAURORA-1,x\nAURORA-2,y\n", encoding="utf-8")
    (folder / "links.csv").write_text("source,target,type\nAURORA-1,AURORA-1,t\n", encoding="utf-8")
    (folder / "notes" / "README.md").write_text("x", encoding="utf-8")
    (folder / "notes" / "AURORA-1.md").write_text("good", encoding="utf-8")
    result = run(hub, "import", folder)
    assert (result.exit_code, result.stdout) == (7, "")
    lines = result.stderr.splitlines()
    assert f"{folder}/issues.csv:2:10: sumary: there is no such column — did you mean summary?" in lines
    assert any(line.startswith(f"{folder}/links.csv:2:1: ") for line in lines)
    assert any(line.startswith(f"{folder}/notes/README.md:1:1: key: ") for line in lines)
    assert lines[-1].endswith("nothing was imported")
    assert run(hub, "note", "get", "AURORA-1").exit_code == 4
    errors = answered(hub, "import", folder, code=7)["errors"]
    assert {"file", "line", "column", "field", "detail", "hint"} <= set(errors[0])


def test_a_broken_file_and_an_empty_folder_say_so(hub: RunningHub, folder: Path, tmp_path: Path) -> None:
    assert run(hub, "import", folder).exit_code == 2
    assert run(hub, "import", tmp_path / "nowhere").exit_code == 2
    (folder / "notes.csv").write_text('key,text\nAURORA-1,"x" y\n', encoding="utf-8")
    result = run(hub, "import", folder)
    assert (result.exit_code, f"{folder}/notes.csv:2:" in result.stderr) == (7, True)
    (folder / "notes.csv").write_bytes(b"\xff\xfe")
    assert run(hub, "import", folder).exit_code == 7


def test_the_report_for_a_person_names_each_link(hub: RunningHub, folder: Path) -> None:
    (folder / "links.csv").write_text("source,target,type\nAURORA-1,AURORA-2,связанные\n", encoding="utf-8")
    result = run(hub, "import", folder)
    assert result.exit_code == 0, result.output
    assert "missing: AURORA-1 связанные AURORA-2" in result.stdout


def test_an_imported_list_is_no_word_of_jira_for_a_plan(hub: RunningHub, folder: Path) -> None:
    (folder / "issues.csv").write_text("key,summary,duedate\nAURORA-1,x,2026-10-23\n", encoding="utf-8")
    run(hub, "import", folder)
    batch = folder / "batch.yaml"
    batch.write_text("- ensure_fields: {key: AURORA-1, duedate: 2026-10-23}\n", encoding="utf-8")
    assert [command["mark"] for command in answered(hub, "plan", batch, code=3)["commands"]] == ["?", "="]
