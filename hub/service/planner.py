"""The use cases of plans, a transaction each."""

from collections.abc import Sequence
from typing import Any

from hub.errors import Language
from hub.service import plans
from hub.service.answers import Answer
from hub.service.plans import PlanWish
from hub.service.work import Work


class Planner:
    """Plans made, looked at and applied. Refusals are raised."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def make(self, link: str, wish: PlanWish, *, language: Language = "en", request_key: str | None = None) -> Answer:
        """201 with the plan."""
        return self._work.answered(
            link, request_key, 201, lambda transaction: plans.make_plan(transaction, link, wish, language)
        )

    def plan(self, link: str, plan_id: int, *, language: Language = "en") -> dict[str, Any]:
        with self._work.reading() as transaction:
            return plans.plan_view(transaction, link, plan_id, language)

    def apply(
        self,
        link: str,
        plan_id: int,
        digest: str,
        *,
        author: str | None = None,
        commands: Sequence[object] | None = None,
        held: bool = False,
        request_key: str | None = None,
    ) -> Answer:
        """201 with the batch."""
        return self._work.answered(
            link,
            request_key,
            201,
            lambda transaction: plans.apply_plan(
                transaction, link, plan_id, digest, author=author, commands=commands, held=held
            ),
        )

    def of_batch(self, link: str, batch_id: int, *, language: Language = "en") -> dict[str, Any]:
        with self._work.reading() as transaction:
            return plans.batch_plan(transaction, link, batch_id, language)
