"""The fake Jira itself: one request in, one answer out, everything journalled. Knows no sockets and no ASGI."""

from dataclasses import dataclass

from examples.jira import control, page
from examples.jira.auth import admit, xsrf_refusal
from examples.jira.catalogue import User
from examples.jira.context import Context
from examples.jira.faults import Buckets, Fault, rate_headers, spoiled, take_fault, too_many
from examples.jira.http import Answer, Call, Refusal, answer_html
from examples.jira.routes import find_route
from examples.jira.seeds import plant
from examples.jira.settings import JiraSettings, Switches
from examples.jira.store import Store
from relay.ports import Clock

_JOURNAL_BODY = 65_536  # characters of a body that the journal keeps


@dataclass(frozen=True, slots=True)
class Stamp:
    wall: float
    monotonic: float


class FakeJira:
    """A Jira Data Center. `serve` may be called from any thread; requests are executed one at a time."""

    def __init__(self, settings: JiraSettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.store = Store(settings.database)
        self._buckets = Buckets()
        with self.store.transaction():
            if self.store.recall("planted") is None:
                plant(self.context())
                self.store.remember("planted", value=True)

    def close(self) -> None:
        self.store.close()

    def context(self, user: User | None = None, request: int | None = None) -> Context:
        """This moment, as `user` sees it."""
        switches = Switches.model_validate(self.store.recall("switches", {}))
        return Context(self.store, self.settings, switches, self.clock.wall(), user, request)

    def stamp(self) -> Stamp:
        """This moment on both clocks."""
        return Stamp(self.clock.wall(), self.clock.monotonic())

    def serve(self, call: Call, arrived: Stamp | None = None) -> Answer:
        """Answer one request; `ConnectionDropped` when a fault has it so.

        The journal shows `arrived`: taken before any waiting here, or gaps between requests would seem shorter.
        """
        if call.path.startswith("/rest/"):
            return self._rest(call, arrived or self.stamp())
        with self.store.transaction():
            if call.path.startswith("/control/"):
                return control.serve(self.context(), call)
            return page.serve(self.context(), call) or answer_html(404, "Oops, you've found a dead link.")

    def _rest(self, call: Call, arrived: Stamp) -> Answer:
        number, fault = self._arrive(call, arrived)
        if fault is not None and fault.kind == "delay":
            self.clock.sleep(fault.seconds)  # before the execution and outside the lock: others go on
        answer = Answer(0)
        with self.store.transaction():
            if fault is not None and fault.kind == "edit":
                control.perform_edit(self.context(), fault.edit)
            context = self.context(request=number)
            if fault is None or fault.executes:
                answer = self._filtered(context, call)
            kind = fault.kind if fault else ""
            dropped = kind in ("drop_before_execute", "execute_then_drop")
            shown = answer if fault is None or dropped else spoiled(fault, answer)
            self.store.close_request(
                number,
                user=context.user.name if context.user else None,
                status=None if dropped else shown.status,
                executed=bool(context.changes),
                fault=kind,
            )
        if dropped and fault is not None:
            return spoiled(fault, answer)
        return shown.with_headers(self._headers(context, number))

    def _arrive(self, call: Call, arrived: Stamp) -> tuple[int, Fault | None]:
        """Journal the request before anything else: what arrived is known even if the fake is killed."""
        with self.store.transaction():
            number = self.store.open_request(
                {
                    "wall": arrived.wall,
                    "monotonic": arrived.monotonic,
                    "boot_id": self.clock.boot_id(),
                    "method": call.method,
                    "path": call.path,
                    "query": call.raw_query,
                    "body": call.body.decode("utf-8", "replace")[:_JOURNAL_BODY],
                    "user_agent": call.headers.get("user-agent", ""),
                }
            )
            faults = control.faults(self.store)
            fault, remaining = take_fault(faults, number, call.method, call.path)
            if remaining != faults:
                control.remember_faults(self.store, remaining)
            return number, fault

    def _filtered(self, context: Context, call: Call) -> Answer:
        """The chain in front of the resources: log-in, rate limit, XSRF."""
        if context.switches.maintenance:
            return answer_html(503, "503 Service Unavailable", "Jira is down for maintenance.")
        user = admit(context, call)
        if isinstance(user, Answer):
            return user
        context.user = user
        bucket, name, now = context.switches.rate_limit, user.name if user else "", self.clock.monotonic()
        left = self._buckets.take(bucket, name, now)
        if left is None:
            wait = 0 if bucket.retry_after_zero else self._buckets.wait_seconds(bucket, name, now)
            return too_many(bucket, str(wait))
        answer = xsrf_refusal(context, call) or self._resource(context, call)
        return answer.with_headers([*rate_headers(bucket, left[0]), ("retry-after", "0")])

    def _resource(self, context: Context, call: Call) -> Answer:
        route = find_route(call.method, call.path, self.settings.base_url)
        if isinstance(route, Answer):
            return route
        try:
            return route.handler(context, call.bound(context.user, route.params))
        except Refusal as refusal:
            assert not context.changes, "a refused request must not have written"
            return refusal.answer()

    @staticmethod
    def _headers(context: Context, number: int) -> list[tuple[str, str]]:
        return [
            ("x-arequestid", f"{number % 1440}x{number}x1"),
            ("x-anodeid", "node2" if context.switches.on_second_node(number) else "node1"),
            ("x-ausername", context.user.name if context.user else "anonymous"),
            ("x-asessionid", f"s{number}"),
            *([("x-seraph-loginreason", "OK")] if context.user else []),
            ("cache-control", "no-cache, no-store, no-transform"),
        ]
