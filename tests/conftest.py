"""What every kind of test shares: the profiles, and the rule that in CI nothing may be skipped.

BRIDGE_PROFILE = quick (a newcomer's `make test`, the default) | ci (everything is required) | soak (long runs).
"""

import logging
import os
from collections.abc import Iterator
from datetime import timedelta
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from tests.promised import Promised, covered, is_everything

__all__ = ["covered"]
PROFILE = os.environ.get("BRIDGE_PROFILE", "quick")
SLOWEST_SHOWN = 15

# No deadline of an example: machines are shared, and time is measured in tests/bench alone. Each commit meets the same
# examples every time, so that whether it passes is no matter of chance; new ones are what `soak` is for.
settings.register_profile("quick", deadline=None, max_examples=50, derandomize=True)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=300,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    deadline=timedelta(minutes=5),
    max_examples=20_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(PROFILE)


def pytest_configure(config: pytest.Config) -> None:
    if PROFILE != "quick":
        config.option.durations = SLOWEST_SHOWN
    config.addinivalue_line("markers", "part(*names): which of T1 to T13 this test belongs to (tests/promised.py)")
    # A run neither meets the relays of the machine it runs on, nor leaves its locks among theirs.
    machine = TemporaryDirectory(prefix="machine-", ignore_cleanup_errors=True)
    config.add_cleanup(machine.cleanup)
    os.environ["FOLDER_RELAY_MACHINE"] = machine.name
    config.pluginmanager.register(Promised(everything=is_everything(config, PROFILE)), "promised")


@pytest.fixture
def logs_as_before() -> Iterator[None]:
    """`serve` takes over the logs of its process, which in a test goes on with other tests."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for the whole run."""
    from tests.contracts.postgres_server import server_or_skip

    yield from server_or_skip()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item):  # type: ignore[no-untyped-def]  # a pluggy wrapper generator
    """Where everything is required, a test that skips itself has failed: its machine lacks something."""
    outcome = yield
    report = outcome.get_result()
    if PROFILE != "quick" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where everything is required: {report.longrepr[-1]}"
