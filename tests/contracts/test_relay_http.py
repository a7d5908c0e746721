"""httpx2 through the folder, sync and async, and an HTTP server behind it: what HTTP means stays what it means."""

import asyncio
import contextlib
import gzip
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from relay import AsyncClient, AsyncServer, Client, Profile, Server, create_link
from relay.http import AsyncFolderTransport, FolderTransport

QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05)
ROOT = Path(__file__).resolve().parents[2]


class Upstream(BaseHTTPRequestHandler):
    """Tells what it was asked; some paths answer in ways of their own."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("location", "/elsewhere")
        elif self.path == "/missing":
            self.send_response(404)
        else:
            self.send_response(200)
        self.send_header("set-cookie", "a=1; Path=/")
        self.send_header("set-cookie", "b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT")
        self.send_header("x-path", self.path)
        self.send_header("x-method", self.command)
        self.send_header("x-key", self.headers.get("idempotency-key", ""))
        content = b"" if self.command == "HEAD" else body or b"nothing sent"
        if self.path == "/packed":
            content = gzip.compress(content)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_GET

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the name the base class gives it
        pass


class Listening(ThreadingHTTPServer):
    """With room for as many callers at once as a test has."""

    request_queue_size = 128


@pytest.fixture
def upstream() -> Iterator[str]:
    server = Listening(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def link(tmp_path: Path) -> Path:
    create_link(tmp_path / "main", "main")
    return tmp_path / "main"


@pytest.fixture
def http(link: Path, tmp_path: Path, upstream: str) -> Iterator[httpx2.Client]:
    settings: dict[str, Any] = {"state_dir": tmp_path / "c", "profile": QUICK}
    with (
        Server.for_url(link, upstream, state_dir=tmp_path / "s", profile=QUICK),
        httpx2.Client(transport=FolderTransport(link, **settings), base_url="http://anything") as client,
    ):
        yield client


def test_methods_bodies_and_queries_arrive_as_they_were_sent(http: httpx2.Client) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        answer = http.request(method, "/a b/c", params={"q": "я&1"}, content=b"\x00\xff body")
        assert (answer.status_code, answer.headers["x-method"], answer.content) == (200, method, b"\x00\xff body")
        assert answer.headers["x-path"] == "/a%20b/c?q=%D1%8F%261"
    assert http.head("/").content == b""


def test_cookies_redirects_errors_and_packed_bodies_keep_their_meaning(http: httpx2.Client) -> None:
    assert dict(http.get("/").cookies) == {"a": "1", "b": "2"}
    assert http.get("/redirect").status_code == 302
    assert http.get("/redirect", follow_redirects=True).headers["x-path"] == "/elsewhere"
    assert http.get("/missing").status_code == 404
    packed = http.get("/packed")
    assert (packed.text, "content-encoding" in packed.headers) == ("nothing sent", False)


def test_the_idempotency_key_is_the_request_id_to_the_end(http: httpx2.Client) -> None:
    first = http.post("/", content=b"1", headers={"Idempotency-Key": "k-1"})
    assert first.headers["x-key"] == "k-1"
    assert http.post("/", content=b"2", headers={"Idempotency-Key": "k-1"}).content == b"1", "the stored reply"


def test_a_path_that_looks_like_a_host_stays_a_path(link: Path, tmp_path: Path, upstream: str) -> None:
    with (
        Server.for_url(link, upstream + "/base/", state_dir=tmp_path / "s", profile=QUICK),
        Client(link, state_dir=tmp_path / "c", profile=QUICK) as client,
    ):
        assert client.call("GET", "//127.0.0.2/x").headers["x-path"] == "/base//127.0.0.2/x"
        assert client.call("GET", "/путь").headers["x-path"] == "/base/%D0%BF%D1%83%D1%82%D1%8C"


def test_an_upstream_that_is_down_is_a_502_that_names_it(link: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with (
        Server.for_url(link, url, state_dir=tmp_path / "s", profile=QUICK),
        Client(link, state_dir=tmp_path / "c", profile=QUICK) as client,
    ):
        reply = client.call("GET", "/")
    assert (reply.status, reply.json()["code"]) == (502, "unavailable")
    assert url in reply.json()["detail"]


@pytest.mark.parametrize("shared", ["folder", "client", "async client"])
def test_the_async_transport_over_a_folder_or_a_client_that_is_there(
    link: Path, tmp_path: Path, upstream: str, shared: str
) -> None:
    settings: dict[str, Any] = {"state_dir": tmp_path / "c", "profile": QUICK}

    async def main() -> list[str]:
        async with contextlib.AsyncExitStack() as stack:
            given: Any = link
            if shared == "client":
                given = stack.enter_context(Client(link, **settings))
            elif shared == "async client":
                given = await stack.enter_async_context(AsyncClient(link, **settings))
            more = settings if shared == "folder" else {}
            async with httpx2.AsyncClient(transport=AsyncFolderTransport(given, **more), base_url="http://x") as http:
                answers = await asyncio.gather(*(http.post(f"/{number}", content=b"x") for number in range(30)))
            if shared != "folder":
                assert given.status().counters["calls"] == 30, "what was given is still open"
            return [answer.headers["x-path"] for answer in answers]

    with Server.for_url(link, upstream, state_dir=tmp_path / "s", profile=QUICK):
        assert asyncio.run(main()) == [f"/{number}" for number in range(30)]


def test_the_async_transport_raises_httpx2s_errors_and_withdraws_what_is_cancelled(link: Path, tmp_path: Path) -> None:
    async def main() -> None:
        settings: dict[str, Any] = {"state_dir": tmp_path / "c", "profile": QUICK}
        async with httpx2.AsyncClient(transport=AsyncFolderTransport(link, **settings), base_url="http://x") as http:
            with pytest.raises(httpx2.ConnectTimeout):
                await http.get("/", timeout=0.2)

    asyncio.run(main())


def test_an_async_server_hands_on_to_an_upstream_too(link: Path, tmp_path: Path, upstream: str) -> None:
    async def main() -> int:
        async with (
            AsyncServer.for_url(link, upstream, state_dir=tmp_path / "s", profile=QUICK),
            AsyncClient(link, state_dir=tmp_path / "c", profile=QUICK) as client,
        ):
            return (await client.call("GET", "/")).status

    assert asyncio.run(main()) == 200


def test_serve_upstream_from_the_command_line(link: Path, tmp_path: Path, upstream: str) -> None:
    program = [
        sys.executable,
        "-m",
        "relay",
        "serve",
        str(link),
        "--upstream",
        upstream,
        "--state",
        str(tmp_path / "s"),
    ]
    process = subprocess.Popen(program, cwd=ROOT)
    try:
        with Client(link, state_dir=tmp_path / "c", profile=QUICK) as client:
            assert client.call("GET", "/hello", timeout=60).headers["x-path"] == "/hello"
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_serve_takes_an_app_or_an_upstream_and_not_both(link: Path) -> None:
    for arguments in ([], ["a:b", "--upstream", "http://127.0.0.1:1"]):
        said = subprocess.run(
            [sys.executable, "-m", "relay", "serve", str(link), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert said.returncode == 2
        assert "--upstream" in said.stderr
