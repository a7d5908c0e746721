"""What only PostgreSQL has: statements of its own, locks of links, two hubs on one database, commits heard of."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (the extra `postgres`)")

from hub.errors import Refusal, Unready  # noqa: E402  # after the reason for which nothing else here can run
from hub.restoring import Mark  # noqa: E402
from hub.service import Service  # noqa: E402
from hub.store.connection import STATEMENTS as SQLITE  # noqa: E402
from hub.store.opening import open_database  # noqa: E402
from hub.store.postgres import STATEMENTS, PostgresDatabase  # noqa: E402
from hub.store.schema import SCHEMA_VERSION  # noqa: E402
from protocol.messages import ClaimRequest, Report  # noqa: E402
from tests.contracts.postgres_server import bare_database, fresh_database, migrated  # noqa: E402
from tests.faces.small_hub import creation, fields  # noqa: E402
from tests.simulation.clock import SimulatedClock, SimulatedIds  # noqa: E402

AGENT = ClaimRequest(agent_version=3, session="s1", host="vm")
NOW = "2026-10-13T08:00:00.000000Z"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    with fresh_database(postgres_url) as made:
        yield made


def service_on(url: str, **more: Any) -> tuple[PostgresDatabase, Service]:
    database = PostgresDatabase(url)
    return database, Service(database, clock=SimulatedClock(), ids=SimulatedIds(), **more)


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_every_statement_is_one_that_postgresql_understands(url: str, name: str) -> None:
    numbers: dict[str, int] = {}
    numbered = re.sub(
        r"%\((\w+)\)s", lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", STATEMENTS[name]
    )
    with psycopg.connect(url) as connection:
        connection.execute(f"PREPARE statement AS {numbered}".encode())


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_a_statement_that_differs_takes_the_same_parameters(name: str) -> None:
    here = set(re.findall(r"%\((\w+)\)s", STATEMENTS[name]))
    there = set(re.findall(r"(?<!:):(\w+)", SQLITE[name]))
    assert here <= there


def test_two_hubs_that_start_at_once_make_the_schema_once(postgres_url: str) -> None:
    with bare_database(postgres_url) as url:
        answers: list[object] = []

        def start() -> None:
            answers.append(migrated(url))

        threads = [threading.Thread(target=start) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        found_ready = (SCHEMA_VERSION, SCHEMA_VERSION)
        assert sorted(answers, key=repr) == [(0, SCHEMA_VERSION), found_ready, found_ready]


def test_a_server_that_is_not_there_and_one_of_another_encoding_are_said_in_one_line(postgres_url: str) -> None:
    with pytest.raises(psycopg.OperationalError), closing(open_database("postgresql://x@127.0.0.1:1/x")) as nowhere:
        Service(nowhere, clock=SimulatedClock(), ids=SimulatedIds())
    name = "latin"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        address = f"{postgres_url.rpartition('/')[0]}/{name}"
        with closing(PostgresDatabase(address)) as database, pytest.raises(Unready, match="UTF8"):
            database.raise_schema(SCHEMA_VERSION)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_writers_of_one_link_wait_for_each_other_and_those_of_two_do_not(url: str) -> None:
    with closing(PostgresDatabase(url)) as one, closing(PostgresDatabase(url)) as other:
        inside, done = threading.Event(), threading.Event()

        def write(link: str) -> None:
            with other.writing(NOW, link) as transaction:
                transaction.run("put_note", link=link, key="A1-1", text="x", at=NOW)
                transaction.one("newest_event_id")
                inside.set()
            done.set()

        with one.writing(NOW, "main") as first:
            first.one("newest_event_id")
            free = threading.Thread(target=write, args=("second",))
            free.start()
            assert done.wait(20)  # another link is not waited for
            free.join(20)
            inside.clear()
            done.clear()
            bound = threading.Thread(target=write, args=("main",))
            bound.start()
            assert not inside.wait(0.3)
        assert done.wait(20)
        bound.join(20)


def test_who_writes_for_all_links_is_alone(url: str) -> None:
    with closing(PostgresDatabase(url)) as one, closing(PostgresDatabase(url)) as other:
        done = threading.Event()

        def write() -> None:
            with other.writing(NOW, "main") as transaction:
                transaction.one("newest_event_id")
                done.set()

        with one.writing(NOW) as first:
            first.one("newest_event_id")
            thread = threading.Thread(target=write)
            thread.start()
            assert not done.wait(0.3)
        assert done.wait(20)
        thread.join(20)


def test_two_hubs_hand_every_command_of_a_link_out_once(url: str) -> None:
    (first, one), (second, two) = service_on(url), service_on(url)
    with closing(first), closing(second):
        wishes = [fields(f"AURORA-{number}") for number in range(1, 31)]
        one.create_batch("main", "anna", "t", wishes)
        handed: list[int] = []

        def work(service: Service) -> None:
            for number in range(40):
                answer = service.claim("main", AGENT, request_key=f"{id(service)}-{number}")
                assert answer is not None
                if answer.status != 200:
                    return
                delivery = json.loads(answer.body)
                handed.append(delivery["id"])
                said = Report(status="done", result={"missing": []} if delivery["type"] == "refresh" else {})
                service.report("main", delivery["id"], said)

        threads = [threading.Thread(target=work, args=(service,)) for service in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        done = [item["id"] for item in one.command_list("main", limit=50)["items"] if item["status"] == "done"]
        assert len(done) == 31
        # Two agents at once are against the rules; yet whoever claims gets the oldest that is out: none is passed by.
        assert set(handed) == set(range(1, 32))


def test_batches_of_two_links_made_at_once_have_ids_of_their_own(url: str) -> None:
    (first, one), (second, two) = service_on(url), service_on(url)
    with closing(first), closing(second):

        def work(service: Service, link: str) -> None:
            for number in range(15):
                service.create_batch(link, "anna", "t", [fields(f"AURORA-{number + 1}")])

        threads = [threading.Thread(target=work, args=pair) for pair in ((one, "main"), (two, "second"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        ids = [item["id"] for link in ("main", "second") for item in one.batch_list(link, limit=50)["items"]]
        assert sorted(ids) == list(range(1, 31))


def test_a_batch_made_by_one_hub_rings_the_bell_of_the_other(url: str) -> None:
    (first, one), (second, two) = service_on(url), service_on(url)
    with closing(first), closing(second):
        rang = threading.Event()
        ring = two.bell.ring

        def heard() -> None:
            ring()
            rang.set()

        second.listen(heard)
        assert rang.wait(20)  # once when it begins to listen
        rang.clear()
        one.create_batch("main", "anna", "t", [fields()])
        assert rang.wait(20)


def test_a_claim_parked_at_one_hub_gives_way_to_a_newer_one_at_another(url: str) -> None:
    (first, one), (second, two) = service_on(url), service_on(url)
    with closing(first), closing(second):
        assert one.claim("main", AGENT, request_key="old", last=False) is None
        assert two.claim("main", AGENT, request_key="new", last=False) is None
        one.create_batch("main", "anna", "t", [fields()])
        parked = one.claim("main", AGENT, request_key="old", first=False, last=False)
        assert parked is not None
        assert parked.status == 204
        newer = two.claim("main", AGENT, request_key="new", first=False, last=False)
        assert newer is not None
        assert json.loads(newer.body)["delivery"] == 1


def test_a_hub_whose_server_was_away_connects_anew(url: str) -> None:
    database, service = service_on(url)
    with closing(database):
        service.create_batch("main", "anna", "t", [fields()])
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with suppress(psycopg.OperationalError):
            service.create_batch("main", "anna", "lost", [fields()])
        service.create_batch("main", "anna", "after", [fields()])
        assert service.batch_list("main", limit=5)["items"][0]["title"] == "after"


class Marks:
    def __init__(self, mark: Mark | None) -> None:
        self.mark = mark

    def read(self) -> Mark | None:
        return self.mark

    def write(self, mark: Mark) -> None:
        self.mark = mark


def test_a_restored_database_is_held_here_too_and_the_second_hub_does_not_do_it_again(url: str) -> None:
    marks, others = Marks(None), Marks(None)
    database, service = service_on(url, marks=marks)
    with closing(database):
        service.create_batch("main", "anna", "t", [fields()])
    assert marks.mark is not None
    marks.mark = Mark(marks.mark.epoch, marks.mark.event_id + 7)
    others.mark = marks.mark
    database, service = service_on(url, marks=marks)
    with closing(database):
        assert service.taken_over is not None
        assert service.taken_over.held == 2
        assert service.newest_event() > 1_000_000
        answer = service.claim("main", AGENT)
        assert answer is not None
        assert json.loads(answer.body)["id"] > 1_000_000
    database, service = service_on(url, marks=others)
    with closing(database):
        assert service.taken_over is None


class Twin:
    """Two hubs on one database, each with its mark."""

    def __init__(self, url: str, marks: Sequence[Marks]) -> None:
        self.marks = marks
        made = [service_on(url, marks=each) for each in self.marks]
        self.databases = [database for database, _ in made]
        self.services = [service for _, service in made]

    def close(self) -> None:
        for database in self.databases:
            database.close()


def kept(url: str) -> dict[str, list[dict[str, Any]]]:
    """Everything that a copy of the database would hold of batches, commands, events and settings."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        names = ("setting", "batch", "command", "event", "answer")
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def put_back(url: str, copy: dict[str, list[dict[str, Any]]]) -> None:
    """What a restoring does while hubs are connected: the tables hold what they held, the sequences go back too."""
    with psycopg.connect(url) as connection:
        connection.execute(f"TRUNCATE {', '.join(copy)}, late_result, reading_part, plan RESTART IDENTITY CASCADE")
        for name, rows in copy.items():
            for row in rows:
                columns, places = ", ".join(row), ", ".join(f"%({column})s" for column in row)
                connection.execute(f"INSERT INTO {name} ({columns}) VALUES ({places})", row)
        for name in ("event", "answer"):
            next_id = f"(SELECT coalesce(max(id), 0) + 1 FROM {name})"
            connection.execute(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {next_id}, false)")


@pytest.fixture
def twin(url: str) -> Iterator[Twin]:
    with closing(Twin(url, (Marks(None), Marks(None)))) as made:
        yield made


def test_a_database_restored_under_living_hubs_is_held_by_the_first_that_writes_and_joined_by_the_other(
    url: str, twin: Twin
) -> None:
    one, two = twin.services
    one.create_batch("main", "anna", "kept", [creation()])
    copy = kept(url)
    answer = one.claim("main", AGENT)
    assert answer is not None
    before = json.loads(answer.body)
    one.report("main", before["id"], Report(status="done", result={"key": "AURORA-9"}))
    two.create_batch("second", "boris", "lost", [fields()])
    old = one.epoch
    put_back(url, copy)

    with pytest.raises(Refusal) as refused:
        one.claim("main", AGENT)
    assert refused.value.code == "unavailable"
    assert one.command("main", before["id"])["status"] == "queued"  # nothing of that claim was committed
    assert one.taken_over is not None
    assert (one.epoch != old, one.taken_over.held) == (True, 2)
    again = one.claim("main", AGENT)
    assert again is not None
    assert again.status == 204  # on hold until a person has a look

    with pytest.raises(Refusal):
        two.create_batch("second", "boris", "again", [fields()])
    assert (two.epoch, two.taken_over) == (one.epoch, None)
    made = json.loads(two.create_batch("second", "boris", "again", [fields()]).body)
    assert made["id"] > 1_000_000
    assert [mark.mark.epoch for mark in twin.marks if mark.mark] == [one.epoch] * 2

    # Whichever hub hands it out, an issue of before bears the mark it bore before the restoring.
    two.approve_batch("main", before["batch_id"])
    for service in twin.services:
        delivered = service.claim("main", AGENT)
        assert delivered is not None
        assert json.loads(delivered.body)["identity"] == before["identity"]


def test_hubs_that_write_at_once_never_take_each_others_events_for_a_restoring(twin: Twin) -> None:
    faults: list[BaseException] = []

    def work(service: Service, link: str) -> None:
        try:
            for _ in range(20):
                service.create_batch(link, "anna", "t", [fields()])
        except BaseException as error:
            faults.append(error)
            raise

    pairs = [(service, link) for service in twin.services for link in ("main", "second", "third")]
    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert [service.taken_over for service in twin.services] == [None, None]
