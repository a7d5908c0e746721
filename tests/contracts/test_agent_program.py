"""The installed agent as a real process: what `check` says of a broken Jira, one-off runs, and what never gets out."""

import json
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.journal import read_records
from examples.jira.faults import Fault
from tests.conftest import PROFILE
from tests.contracts.agent_process import CANARY, Place, place, wait_until

FIELDS = {"key": "AURORA-1533", "duedate": "2026-11-24"}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


# --- check


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "expired token": ({"auth_mode": "expired"}, "fail  jira: not let in", "renew the token"),
    "maintenance": ({"maintenance": True}, "fail  jira: Jira is not reached", "maintenance"),
    "captcha": ({"auth_mode": "captcha"}, "fail  jira: not let in", "log in with a browser once (CAPTCHA)"),
    "login page": ({"auth_mode": "sso_200_html"}, "fail  jira: no answer of Jira's", "single sign-on"),
    "login redirect": (
        {"auth_mode": "sso_302"},
        "fail  jira: no answer of Jira's",
        "jira_url must lead to Jira itself",
    ),
    "served as nobody": (
        {"auth_mode": "anonymous_downgrade"},
        "fail  jira: no answer of Jira's",
        "serves it as nobody",
    ),
    "linking is off": ({"linking": False}, "fail  link types: refused", "check project"),
    "rate limit": (
        {"rate_limit": {"limit": 0, "fill_rate": 1, "interval_seconds": 60}},
        "fail  jira: too many requests",
        "limits",
    ),
    "a required field": ({"required_on_create": ["duedate"]}, "fail  create ", "create_defaults"),
}
IN_QUICK = 4  # each starts a process; all of them run in CI


@pytest.mark.parametrize("mode", list(BROKEN)[: IN_QUICK if PROFILE == "quick" else None])
def test_check_prints_the_failing_probe_and_what_to_do_and_ends_with_1(machine: Place, mode: str) -> None:
    switches, failing, todo = BROKEN[mode]
    machine.switch(**switches)
    done = machine.ran("check", "--hub-wait", "0")
    assert done.returncode == 1, done.stdout + done.stderr
    failed = [line for line in done.stdout.splitlines() if line.startswith("fail")]
    # One probe fails, and no other with it; a field required on creation fails that of each issue type.
    assert failed and all(line.startswith(failing) for line in failed), done.stdout
    assert len(failed) == (2 if mode == "a required field" else 1), done.stdout
    advice = done.stdout.splitlines()[done.stdout.splitlines().index(failed[0]) + 1]
    assert advice.startswith("      → ") and todo in advice
    assert machine.written() == []
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"board_id": "14"}, "fail  board: refused"),
        ({"share": '"/nowhere"'}, "fail  share: /nowhere/main is not there"),
        ({"jira_url": '"http://127.0.0.1:1"'}, "fail  jira: not sent"),
        ({"project": '"NOPE"'}, "fail  issue types: refused"),
    ][: 1 if PROFILE == "quick" else None],
)
def test_check_names_what_is_wrong_in_the_configuration(machine: Place, changed: Any, failing: str) -> None:
    machine.configure(**changed)
    done = machine.ran("check", "--hub-wait", "0")
    assert done.returncode == 1
    assert any(line.startswith(failing) for line in done.stdout.splitlines()), done.stdout


def test_check_of_a_healthy_place_tells_everything_a_person_wants_to_know(machine: Place) -> None:
    with machine.serving():
        done = machine.ran("check", "--json")
    assert done.returncode == 0, done.stdout
    found = {one["name"]: one for one in json.loads(done.stdout)}
    assert {"tls", "jira", "clock", "myself", "rate limit", "names", "read permission", "create task", "create epic",
            "board", "journal", "lock", "share"} <= set(found)  # fmt: skip
    assert "9.12.10" in found["jira"]["seen"]
    assert "svc_hub, locale ru_RU" in found["myself"]["seen"]
    assert "of 100000 left" in found["rate limit"]["seen"]
    assert "scrum, sprints: Спринт 1" in found["board"]["seen"]
    assert "customfield_10580" in found["names"]["seen"]
    assert "the hub answered in" in found["share"]["seen"]
    assert [one["name"] for one in found.values() if one["state"] == "fail"] == []
    assert machine.written() == [] and machine.queue.states == []


# --- one-off runs


def test_run_once_does_one_command_and_ends(machine: Place) -> None:
    machine.queue.add("ensure_fields", **FIELDS)
    machine.queue.add("ensure_fields", **FIELDS | {"duedate": "2026-11-25"})
    with machine.serving():
        done = machine.ran("run", "--once")
    assert done.returncode == 0, done.stderr
    assert len(machine.queue.reports) == 1
    assert "ensure_fields AURORA-1533 done (2 calls), next call not before" in done.stdout


@pytest.mark.parametrize("setting", ["ca_file", "proxy"])
def test_a_way_to_jira_that_is_none_is_told_before_anything_is_claimed(machine: Place, setting: str) -> None:
    """A start that failed with a command in hand would count as one of the three it may end the agent."""
    machine.queue.add("ensure_fields", **FIELDS)
    machine.configure(f'{setting} = "{machine.home}/token"')
    with machine.serving():
        done = machine.ran("run", "--once")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith(setting) and len(done.stderr.splitlines()) == 1, done.stderr
    assert [one["status"] for one in machine.queue.commands] == ["queued"]


def test_run_once_with_an_empty_queue_ends_too(machine: Place) -> None:
    with machine.serving():
        assert machine.ran("run", "--once").returncode == 0


def test_a_dry_run_says_what_it_would_write_and_writes_nothing(machine: Place) -> None:
    machine.queue.add("ensure_fields", **FIELDS)
    with machine.serving():
        done = machine.ran("run", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "would PUT /rest/api/2/issue/AURORA-1533 (duedate)" in done.stdout
    assert machine.written() == [] and machine.queue.reports == {}


def test_status_and_journal_tell_what_is_in_hand_and_what_was_done(machine: Place) -> None:
    number = machine.queue.add("ensure_fields", **FIELDS)
    with machine.serving():
        machine.ran("run", "--once")
    status = json.loads(machine.ran("status", "--json").stdout)
    assert (status["in_hand"], status["damaged_lines"]) == (None, 0)
    lines = [json.loads(line) for line in machine.ran("journal", "--command", str(number)).stdout.splitlines()]
    assert [one["kind"] for one in lines if one["kind"] in ("call", "intent", "step", "finished", "reported")] == [
        "call", "intent", "call", "step", "finished", "reported",
    ]  # fmt: skip


def test_this_machine_permits_what_its_configuration_says(machine: Place) -> None:
    machine.configure('allow_types = ["ensure_comment"]\nallow_projects = ["AURORA"]\ncommands_a_day = 2')
    machine.queue.add("ensure_fields", **FIELDS)
    machine.queue.add("ensure_comment", key="BOREAS-1", marker="plan:1", body="x")
    machine.queue.add("ensure_comment", key="AURORA-1533", marker="plan:1", body="x")
    with machine.serving():
        for _ in range(3):
            done = machine.ran("run", "--once")
            assert done.returncode == 0
    errors = [report["error"] for report in machine.queue.reports.values()]
    assert len(errors) == 2 and "allow_types" in errors[0] and "allow_projects" in errors[1]
    assert "commands_a_day" in done.stdout
    assert machine.written() == []


def test_g46_a_reading_of_megabytes_comes_through_the_folder_whole(tmp_path: Path) -> None:
    """240 issues with long descriptions make a report of several frames; the relay parts it and puts it together."""
    with place(tmp_path, issues=240) as machine:
        store = machine.jira.store
        with store.transaction():
            for issue in store.issues():
                issue.description = f"{issue.key} " + "ж" * 5_000
                store.save_issue(issue, issue.updated)
        number = machine.queue.add("refresh", jql='project = "AURORA"')
        with machine.serving():
            done = machine.ran("run", "--once")
    assert done.returncode == 0, done.stderr
    report = machine.queue.reports[number]
    assert (report["status"], len(report["result"]["issues"])) == ("done", 240)
    assert len(json.dumps(report, ensure_ascii=False).encode()) > 2 * 2**20
    assert all(one["description"].startswith(one["key"]) for one in report["result"]["issues"])


# --- what never gets out


def everything_in(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes()


def test_the_token_is_in_nothing_the_agent_writes_to_disk_to_the_share_or_says(machine: Place, tmp_path: Path) -> None:
    """Jira echoes the token in its refusals, a proxy in its pages and headers; the agent is killed, and runs again."""
    log = tmp_path / "agent.log"
    machine.fault(
        Fault(kind="refuse", method="PUT", status=400, messages=(f"token {CANARY} is bad",), errors={"x": CANARY}),
        Fault(kind="refuse", method="POST", path="/comment$", status=500, messages=(CANARY,)),
    )
    machine.queue.add("ensure_fields", **FIELDS)
    machine.queue.add("ensure_comment", key="AURORA-1533", marker="plan:1", body="x")
    machine.queue.add("refresh", keys=["AURORA-1533"])
    machine.queue.add("ensure_issue", temp_key="new:1", summary="Отчёт", identity="jh:a:1")
    with machine.serving():
        with machine.running(log) as agent:
            machine.wait_for(2, agent)
            agent.kill()
            agent.wait()
        with machine.running(log) as agent:
            machine.wait_for(4, agent)
        words = [machine.ran(*arguments) for arguments in (
            ("check", "--hub-wait", "5"), ("journal", "-n", "10000"), ("collect", "--out", "got.tar.gz"),
        )]  # fmt: skip
    assert all(done.returncode == 0 for done in words), [done.stderr for done in words]
    canary = CANARY.encode()
    found = [path for path, content in everything_in(machine.home, machine.share) if canary in content]
    assert found == [machine.token]
    assert canary not in log.read_bytes()
    assert not any(CANARY in done.stdout + done.stderr for done in words)
    assert CANARY not in json.dumps([machine.queue.reports, machine.queue.states], ensure_ascii=False)
    masked = machine.queue.reports[40]["error"]
    assert "token *** is bad" in masked
    with tarfile.open(machine.home / "got.tar.gz") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None and canary not in content.read()


def test_an_address_with_a_password_in_it_is_refused_before_it_is_shown_anywhere(machine: Place) -> None:
    machine.configure(jira_url=f'"https://svc:{CANARY}@jira.example.org"')
    done = machine.ran("run", "--once")
    assert done.returncode == 1
    assert "jira_url" in done.stderr and CANARY not in done.stdout + done.stderr


def test_what_the_agent_writes_is_its_owners_alone(machine: Place) -> None:
    machine.queue.add("ensure_fields", **FIELDS)
    with machine.serving():
        machine.ran("run", "--once")
    machine.ran("collect", "--out", "got.tar.gz")
    mine = [path for path in machine.home.iterdir() if path.is_file() and path.name != "agent.toml"]
    assert {"journal.jsonl", "journal.jsonl.names", "journal.jsonl.lock", "got.tar.gz"} <= {one.name for one in mine}
    assert [one.name for one in mine if stat.S_IMODE(one.stat().st_mode) & 0o077] == []


def test_collect_packs_what_helps_without_texts_of_peoples_and_never_overwrites(machine: Place) -> None:
    machine.configure('user = "svc"\npassword = "hunter2-secret"\n#')
    machine.configure()
    machine.queue.add("ensure_comment", key="AURORA-1533", marker="plan:1", body="личная тайна")
    machine.queue.add("ensure_issue", temp_key="new:1", summary="секретный проект", description="его описание")
    with machine.serving():
        machine.ran("run", "--once")
        machine.ran("run", "--once")
    settings = machine.home / "agent.toml"
    settings.write_text('password = "hunter2-secret"\n' + settings.read_text(encoding="utf-8"), encoding="utf-8")
    done = machine.ran("collect", "--out", "got.tar.gz")
    assert done.returncode == 0, done.stderr
    with tarfile.open(machine.home / "got.tar.gz") as archive:
        contents = {}
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            contents[member.name.rpartition("/")[2]] = content.read().decode()
    assert set(contents) == {
        "about.json", "status.json", "agent.toml", "journal.jsonl", "orphans.jsonl", "names.json",
    }  # fmt: skip
    assert json.loads(contents["about.json"])["packages"]["jira-hub"]
    kinds = [json.loads(line)["kind"] for line in contents["journal.jsonl"].splitlines()]
    assert {"claimed", "call", "intent", "step", "finished", "reported"} <= set(kinds)
    everything = "".join(contents.values())
    for hidden in ("личная тайна", "секретный проект", "его описание", "hunter2-secret"):
        assert hidden not in everything
    assert "«12 characters»" in contents["journal.jsonl"]
    assert 'password = "***"' in contents["agent.toml"]
    again = machine.ran("collect", "--out", "got.tar.gz")
    assert (again.returncode, "File exists" in again.stderr) == (1, True)


def test_a_journal_that_is_compacted_under_load_loses_nothing_that_matters(machine: Place) -> None:
    """The journal is over its limit already; the agent works through a queue and compacts on its way."""
    from agent.journal import COMPACT_OVER, line_of
    from agent.records import Recovering

    path = machine.home / "journal.jsonl"
    filler = line_of(Recovering(at=0.0, command_id=1))
    path.touch(mode=0o600)
    path.write_bytes(filler * (COMPACT_OVER // len(filler) + 1))
    for number in range(20):
        machine.queue.add("ensure_comment", key="AURORA-1533", marker=f"plan:{number}", body="x")
    log = machine.home.parent / "agent.log"
    with machine.serving(), machine.running(log) as agent:
        machine.wait_for(20, agent)
        wait_until(lambda: path.stat().st_size < COMPACT_OVER)
    assert {report["status"] for report in machine.queue.reports.values()} == {"done"}
    assert len(machine.written()) == 20
    records = list(read_records(path))
    assert None not in records
    assert {"session", "call", "reported"} <= {record.kind for record in records if record is not None}
