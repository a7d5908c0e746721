"""P6 and P7 as one property: whatever is lost, comes back or dies, a reply answers its own request, always alike."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from relay.frames import PEER_OF, ReplyHead, Side
from tests.conftest import PROFILE
from tests.contracts.relay_by_hand import Call, Hands

IDS = st.sampled_from([f"r-{number}" for number in range(6)])
SIDES = st.sampled_from(["hub", "agent"])


class LateReplies(RuleBasedStateMachine):
    """Files are lost and come back from any time before; both sides die at any moment; ids are asked again."""

    @initialize()
    def begin(self) -> None:
        self.root = TemporaryDirectory()
        self.hands = Hands(Path(self.root.name))
        self.calls: list[Call] = []
        self.old: dict[Side, dict[str, bytes]] = {"hub": {}, "agent": {}}
        self.runs = 0
        self.answers: dict[str, set[bytes]] = {}

    @rule(request_id=IDS)
    def ask(self, request_id: str) -> None:
        self.calls.append(self.hands.ask(request_id, request_id.encode()))
        self.hands.run(0.2)

    @rule(request_id=IDS)
    def resume(self, request_id: str) -> None:
        self.calls.append(self.hands.resume(request_id))
        self.hands.run(0.2)

    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        open_calls = [call for call in self.calls if call.waiter.reply is None and call.waiter.error is None]
        if open_calls:
            self.hands.give_up(data.draw(st.sampled_from(open_calls)))
            self.hands.run(0.2)

    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        running = sorted(self.hands.runner.running)
        if running:
            request_id = data.draw(st.sampled_from(running))
            self.runs += 1
            self.hands.runner.answer(request_id, f"{request_id} run {self.runs}".encode())
            self.hands.run(0.2)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 70.0]))
    def wait(self, seconds: float) -> None:
        self.hands.run(seconds, step=max(0.05, seconds / 40))

    @rule(side=SIDES)
    def die(self, side: str) -> None:
        self.remember()
        if side == "hub":
            self.hands.restart_server()
        else:
            self.hands.restart_client()
        self.hands.run(0.1)

    @rule(reader=SIDES, data=st.data())
    def lose(self, reader: Side, data: st.DataObject) -> None:
        self.remember()
        names = sorted(self.hands.files(reader))
        if names:
            del self.hands.files(reader)[data.draw(st.sampled_from(names))]

    @rule(reader=SIDES, data=st.data())
    def come_back(self, reader: Side, data: st.DataObject) -> None:
        self.remember()
        names = sorted(self.old[reader])
        for name in data.draw(st.lists(st.sampled_from(names), max_size=5)) if names else ():
            self.hands.share.appear(reader, name, self.old[reader][name])
        self.hands.run(0.2)

    def remember(self) -> None:
        for side in PEER_OF:
            self.old[side] |= self.hands.files(side)

    @invariant()
    def each_reply_is_the_one_to_its_own_request(self) -> None:
        for call in getattr(self, "calls", ()):
            reply = call.waiter.reply
            if reply is None:
                continue
            assert isinstance(reply.head, ReplyHead)
            assert reply.id == call.request_id
            if reply.head.error is None:
                assert reply.body.startswith(call.request_id.encode() + b" run ")
            self.answers.setdefault(call.request_id, set()).add(reply.body)

    @invariant()
    def one_id_is_always_answered_alike(self) -> None:
        assert [request_id for request_id, bodies in getattr(self, "answers", {}).items() if len(bodies) > 1] == []

    def teardown(self) -> None:
        if not hasattr(self, "hands"):
            return
        # No more faults: what is asked now is answered.
        self.hands.run(2.0)
        last = self.hands.ask("the-last")
        for _ in range(40):
            self.hands.run(3.0, step=0.2)
            for request_id in sorted(self.hands.runner.running):
                self.runs += 1
                self.hands.runner.answer(request_id, f"{request_id} run {self.runs}".encode())
            if last.waiter.reply is not None:
                break
        assert last.waiter.reply is not None
        self.calls.append(last)
        self.each_reply_is_the_one_to_its_own_request()
        self.one_id_is_always_answered_alike()
        self.hands.kill(self.hands.server)
        self.hands.kill(self.hands.client)
        self.root.cleanup()


TestLateReplies = LateReplies.TestCase
TestLateReplies.settings = settings(
    max_examples={"quick": 12, "ci": 150, "soak": 20_000}[PROFILE], stateful_step_count=25, deadline=None
)
