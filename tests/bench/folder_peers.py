"""The peers: what people use today for requests and messages over a folder, each as its own documents say."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from tests.bench.folder_floors import publish, take

PATIENCE_SECONDS: Final = 4.0  # a message that was lost is given up after this
CALL_SECONDS: Final = 30.0


def rest() -> NoReturn:
    while True:
        time.sleep(3600)


class Watchdog:
    """watchdog's Observer on both sides, as its quick start shows it; `polling`: its PollingObserver.

    `rename_out`: a request is taken by renaming it out of the watched folder, as Maildir does.
    """

    def __init__(self, *, polling: float | None = None, rename_out: bool = False) -> None:
        self._polling = polling
        self._rename_out = rename_out

    def prepare(self, share: Path) -> None:
        for name in ("req", "rsp", "taken"):
            (share / name).mkdir()

    def _observe(self, folder: Path, found: Callable[[str], None]) -> None:
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer
        from watchdog.observers.polling import PollingObserver

        class Handler(FileSystemEventHandler):
            def on_created(self, event: FileSystemEvent) -> None:
                self._tell(str(event.src_path))

            def on_moved(self, event: FileSystemEvent) -> None:
                self._tell(str(event.dest_path))

            def _tell(self, path: str) -> None:
                name = Path(path).name
                if name.endswith(".json") and not name.startswith("."):
                    found(name)

        observer = Observer() if self._polling is None else PollingObserver(timeout=self._polling)
        observer.schedule(Handler(), str(folder), recursive=False)
        observer.daemon = True
        observer.start()
        time.sleep(0.2)

    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> NoReturn:
        requests, replies, taken = (str(share / name) for name in ("req", "rsp", "taken"))

        def found(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):  # created and moved are two events of one message
                folder = requests
                if self._rename_out:
                    Path(requests, name).rename(Path(taken, name))
                    folder = taken
                publish(replies, name, take(folder, name), durable=False)

        self._observe(share / "req", found)
        ready()
        rest()

    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes | None]:
        arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._observe(share / "rsp", arrived.put)
        number = 0

        def call(payload: bytes) -> bytes | None:
            nonlocal number
            number += 1
            name = f"{number:09d}.json"
            publish(str(share / "req"), name, payload, durable=False)
            try:
                while arrived.get(timeout=PATIENCE_SECONDS) != name:
                    pass
            except queue.Empty:
                return None
            return take(str(share / "rsp"), name)

        return call


class Kombu:
    """kombu's filesystem transport: a queue of requests and one of replies in one folder.

    It writes under the final name, so a reader may take a message before its bytes are there: then it is gone.
    """

    def __init__(self, polling: float | None = None) -> None:
        self._options = {} if polling is None else {"polling_interval": polling}

    def prepare(self, share: Path) -> None:
        (share / "box" / "control").mkdir(parents=True)

    def channel(self, share: Path) -> Any:
        from kombu import Connection

        box = str(share / "box")
        folders = {"data_folder_in": box, "data_folder_out": box, "control_folder": f"{box}/control"}
        return Connection("filesystem://", transport_options={**folders, **self._options}).channel()

    def _consume(self, channel: Any, name: str, handle: Callable[[Any], None]) -> None:
        from kombu import Consumer, Queue

        def handled(body: Any, message: Any) -> None:
            handle(body)
            message.ack()

        Consumer(channel, queues=[Queue(name)], callbacks=[handled], accept=["json"]).consume()

    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> NoReturn:
        from kombu import Producer

        channel = self.channel(share)
        producer = Producer(channel, serializer="json")
        self._consume(channel, "req", lambda body: producer.publish(body, routing_key="rsp"))
        ready()
        while True:
            with contextlib.suppress(OSError, ValueError):  # nothing came, or it was torn
                channel.connection.client.drain_events(timeout=2)

    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes | None]:
        from kombu import Producer, Queue

        channel = self.channel(share)
        producer = Producer(channel, serializer="json")
        got: list[str] = []
        self._consume(channel, "rsp", got.append)
        Queue("req", channel=channel).declare()

        def call(payload: bytes) -> bytes | None:
            got.clear()
            producer.publish(payload.decode(), routing_key="req")
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not got and time.monotonic() < deadline:
                with contextlib.suppress(OSError, ValueError):
                    channel.connection.client.drain_events(timeout=PATIENCE_SECONDS)
            return got[-1].encode() if got else None

        return call

    def send(self, share: Path, count: int, payload: bytes) -> None:
        from kombu import Producer, Queue

        channel = self.channel(share)
        Queue("q", channel=channel).declare()
        producer = Producer(channel, serializer="json")
        for _ in range(count):
            producer.publish(payload.decode(), routing_key="q")

    def receive(self, share: Path, count: int) -> int:
        channel = self.channel(share)
        got: list[Any] = []
        self._consume(channel, "q", got.append)
        lost, quiet_since = 0, time.monotonic()
        while len(got) + lost < count and time.monotonic() - quiet_since < PATIENCE_SECONDS:
            before = len(got)
            try:
                channel.connection.client.drain_events(timeout=1)
            except OSError:
                continue
            except ValueError:  # taken before its bytes were written: the file is gone
                lost += 1
            if len(got) + lost > before:
                quiet_since = time.monotonic()
        return count - len(got)


class HueyFile:
    """huey's FileHuey: a task whose result the caller waits for. Its storage alone for one-way messages."""

    def __init__(self, polling: float | None = None) -> None:
        self._polling = polling

    def prepare(self, share: Path) -> None:
        (share / "box").mkdir()

    def _huey(self, share: Path) -> tuple[Any, Any]:
        from huey import FileHuey

        logging.getLogger("huey").setLevel(logging.CRITICAL)
        instance = FileHuey("bench", path=str(share / "box"))

        @instance.task()
        def echo(payload: str) -> str:
            return payload

        return instance, echo

    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> NoReturn:
        instance, _ = self._huey(share)
        pace = (
            {}
            if self._polling is None
            else {"initial_delay": self._polling, "max_delay": self._polling, "backoff": 1.0}
        )
        consumer = instance.create_consumer(workers=1, periodic=False, **pace)
        threading.Timer(0.5, ready).start()
        consumer.run()
        raise SystemExit

    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes | None]:
        _, echo = self._huey(share)

        def call(payload: bytes) -> bytes | None:
            result = echo(payload.decode())
            if self._polling is None:
                return str(result.get(blocking=True, timeout=CALL_SECONDS)).encode()
            deadline = time.monotonic() + PATIENCE_SECONDS
            while time.monotonic() < deadline:
                if (value := result.get()) is not None:
                    return str(value).encode()
                time.sleep(self._polling)
            return None

        return call

    def _storage(self, share: Path) -> Any:
        from huey.storage import FileStorage

        return FileStorage("bench", path=str(share / "box"))

    def send(self, share: Path, count: int, payload: bytes) -> None:
        storage = self._storage(share)
        for _ in range(count):
            storage.enqueue(payload)

    def receive(self, share: Path, count: int) -> int:
        storage = self._storage(share)
        got = 0
        while got < count:
            if storage.dequeue() is None:
                time.sleep(0.001)
            else:
                got += 1
        return 0


class PersistFile:
    """persist-queue's file queue. Its head and tail live in one object, so one process puts and takes in turn."""

    def prepare(self, share: Path) -> None:
        (share / "box").mkdir()

    def put_and_get(self, share: Path, count: int, payload: bytes) -> int:
        from persistqueue import Queue

        line = Queue(str(share / "box" / "queue"), tempdir=str(share))
        for _ in range(count):
            line.put(payload.decode())
        for _ in range(count):
            line.get()
            line.task_done()
        return 0
