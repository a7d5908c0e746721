"""Any HTTP server as a handler of the relay."""

import string
from urllib.parse import quote

import httpx2

from relay.calls import HOP_BY_HOP, Reply, Request, joined


class Upstream:
    """A handler that asks the HTTP server at `url`."""

    def __init__(self, url: str) -> None:
        self._base = httpx2.URL(url)
        if self._base.scheme not in ("http", "https") or not self._base.host:
            raise ValueError(f"{url!r} is no address of an HTTP server, such as http://127.0.0.1:8787")
        self._client = httpx2.Client(timeout=httpx2.Timeout(300.0, connect=10.0), trust_env=False)

    def __call__(self, request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP | {"host"}}
        url = _below(self._base, request.path)
        try:
            answer = self._client.request(request.method, url, content=request.body, headers=headers)
        except httpx2.TransportError as error:
            return Reply.of({"code": "unavailable", "title": "no answer", "detail": f"{self._base}: {error}"}, 502)
        # The body is decoded already, so it is not encoded any more.
        pairs = [[n, v] for n, v in answer.headers.multi_items() if n not in HOP_BY_HOP | {"content-encoding"}]
        return Reply(answer.status_code, joined(pairs), answer.content)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def _below(base: httpx2.URL, path: str) -> httpx2.URL:
    """The address of `path` on the upstream; never another host, whatever the path looks like."""
    return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + quote(path, safe=string.punctuation).encode("ascii"))
