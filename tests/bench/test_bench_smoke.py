"""The bench works: a quick run ends by itself, leaves nothing behind and closes with the JSON that is promised."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.__main__ import SUITES
from tests.bench.reporting import Figure, Target

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("suite", SUITES)
def test_a_quick_run_ends_with_one_line_of_targets(suite: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--only", suite]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert list(last) == ["targets"]
    assert last["targets"]
    for target in last["targets"]:
        assert list(target) == ["name", "ours", "reference", "ratio", "target", "met"]
        assert isinstance(target["ours"], float)
        assert target["ratio"] is None or target["ratio"] > 0
        assert isinstance(target["met"], bool)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "ratio", "target", "met"),
    [
        (3.0, 2.0, Target("t", "≤", 2), True),
        (3.0, 2.1, Target("t", "≤", 2), False),
        (3.0, 2.0, Target("t", "≥", 4), False),
        (0.0, None, Target("t", "=", 0, of_ratio=False, unit="calls"), True),
        (1.0, None, Target("t", "≤", 2), False),  # what has no reference has not met a ratio
        (math.nan, math.nan, Target("t", "≤", 2), False),
    ],
)
def test_a_target_is_met_by_its_figure_or_its_ratio(
    value: float, ratio: float | None, target: Target, met: bool
) -> None:
    figure = Figure("measurement", "ours", "ours", value, "ms", 1.5, ratio, target=target)
    assert figure.as_target()["met"] is met
    assert json.loads(json.dumps(figure.as_target(), allow_nan=False))
