"""`/metrics` and `/health`, where a scrape and a watchdog ask for them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.faces.filled_mirror import fill
from tests.faces.small_hub import ENGINES, SmallHub, fields, hub_on

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+')


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/metrics"])
def test_a_scrape_gets_every_figure_in_the_text_format(hub: SmallHub, path: str) -> None:
    fill(hub.service, {"key": "AURORA-1"})
    hub.batch(fields(), fields("AURORA-2"))
    command = hub.claim()["id"]
    hub.claim()
    hub.clock.sleep(40)
    hub.report(command, jira_calls=2, rate_limited=1)
    hub.clock.sleep(10)
    answer = hub.people.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert [line for line in lines if not line.startswith("#") and not LINE.fullmatch(line)] == []
    for wanted in (
        "jira_hub_up 1",
        'jira_hub_commands{link="main",type="ensure_fields",status="done"} 1',
        'jira_hub_commands{link="main",type="ensure_fields",status="queued"} 1',
        'jira_hub_command_seconds_count{link="main",type="ensure_fields",status="done"} 1',
        'jira_hub_deliveries_total{link="main",type="ensure_fields"} 2',
        'jira_hub_redeliveries_total{link="main",type="ensure_fields"} 1',
        'jira_hub_jira_calls_total{link="main",type="ensure_fields"} 2',
        'jira_hub_rate_limited_total{link="main",type="ensure_fields"} 1',
        'jira_hub_agent_silent_seconds{link="main"} 50',
        'jira_hub_queue_age_seconds{link="main"} 50',
        'jira_hub_mirror_age_seconds{link="main"} 50',
    ):
        assert wanted in lines
    seconds = next(
        line for line in lines if line.startswith("jira_hub_command_seconds_sum") and "ensure_fields" in line
    )
    assert float(seconds.split()[-1]) == pytest.approx(40, abs=0.01)


def test_figures_are_for_those_who_know_the_token_and_health_is_for_all(hub: SmallHub) -> None:
    with TestClient(hub.app, base_url="http://testserver") as stranger:
        assert stranger.get("/metrics").status_code == 401
        assert stranger.get("/api/v1/metrics").status_code == 401
        assert stranger.get("/health").json() == {"status": "ok"}
        assert stranger.get("/api/v1/health").json() == {"status": "ok"}


def test_a_setting_of_nearly_the_right_name_is_told_the_right_one(hub: SmallHub) -> None:
    answer = hub.people.put("/api/v1/settings", json={"auto_refresh_minute": 5}).json()
    assert answer["errors"][0]["hint"] == "did you mean auto_refresh_minutes?"
    pacing = hub.people.put("/api/v1/settings", json={"pacing": {"ensure_field": 5}}).json()
    assert pacing["errors"][0]["hint"] == "did you mean ensure_fields?"
