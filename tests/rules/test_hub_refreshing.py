"""When the mirror is read anew by itself."""

from dataclasses import replace

import pytest

from hub.refreshing import Standing, refresh_due

DUE = Standing(every_minutes=10, mirror_age=600, last_auto_age=None, agent_online=True, paused=False, waiting=0)


def test_an_old_mirror_of_an_idle_agent_is_read_anew() -> None:
    assert refresh_due(DUE)
    assert refresh_due(replace(DUE, last_auto_age=600))


@pytest.mark.parametrize(
    "reason",
    [
        {"every_minutes": 0},
        {"mirror_age": 599},
        {"mirror_age": None},
        {"last_auto_age": 599},
        {"agent_online": False},
        {"paused": True},
        {"waiting": 1},
    ],
)
def test_one_reason_is_enough_to_wait(reason: dict[str, int | bool | None]) -> None:
    assert not refresh_due(replace(DUE, **reason))  # type: ignore[arg-type]  # any one field of Standing
