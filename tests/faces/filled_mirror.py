"""A mirror with issues in it, filled as it always is: by a refresh that an agent reported."""

import json
from typing import Any

from hub.service import Service
from protocol.messages import ClaimRequest, Report


def fill(service: Service, *issues: dict[str, Any], **reading: Any) -> None:
    """Read these issues into the mirror, through the service's own use cases."""
    service.refresh("main", "anna", {"jql": "project = AURORA"})
    take(service, *issues, **reading)


def take(service: Service, *issues: dict[str, Any], **reading: Any) -> None:
    """The agent claims the refresh that waits and reports what it read."""
    answer = service.claim("main", ClaimRequest(session="s1", host="vm"))
    assert answer is not None
    delivery = json.loads(answer.body)
    assert delivery["type"] == "refresh", delivery
    report = Report(status="done", result={"issues": list(issues), **reading}, jira_calls=1)
    assert service.report("main", delivery["id"], report).status == 200
