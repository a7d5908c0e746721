"""`make bench ONLY=hub`: start, memory and help of the hub; its mirror filled and searched."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.bench.measuring import median, middle_ratio, percentile, rss_mib, scratch, settle, told
from tests.bench.our_queue import LINK, OurQueue
from tests.bench.queue_suite import timed
from tests.bench.reporting import Figure, Target
from tests.bench.starting import BIN, first_answer, free_port, program, run_through, with_bytecode

START: Final = "hub: start to first answer"
MEMORY: Final = "hub: memory, idle"
HELP: Final = "jira-hub --help"
MIRROR: Final = "mirror, SQLite FULL"
IDLE_SECONDS: Final = 1.0
FRAMEWORK: Final = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
async def health() -> dict[str, bool]:
    return {"ok": True}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
WORDS: Final = (
    "отчёт",
    "сборка",
    "доставка",
    "интеграция",
    "проверка",
    "сертификат",
    "обмен",
    "журнал",
    "панель",
    "архив",
)
# What is nowhere has to be looked for everywhere, and one or two letters are in no index.
SEARCHES: Final = {
    "words": ("сертификат", "№ 4321", "AURORA-77", "архив панель"),
    "words that are nowhere": ("такого слова нет", "AURORA-99999999", "сертификат которого нет"),
    "one or two letters": ("от", "7", "ЖУ", "а №"),
    "letters that are nowhere": ("ъъ", "q", "ъ ж"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    starts: int
    issues: int
    reading: int
    searches: int


FULL: Final = Plan(7, 100_000, 10_000, 60)
QUICK: Final = Plan(1, 500, 250, 5)


def figures(*, quick: bool) -> list[Figure]:
    plan = QUICK if quick else FULL
    return starts(plan) + mirror(plan)


# --- start


def starts(plan: Plan) -> list[Figure]:
    floor, ours, memory, helps, bare = [], [], [], [], []
    with scratch() as root:
        _make_home(root)
        for number in range(plan.starts + 1):
            told(f"hub: start {number + 1} of {plan.starts + 1}")
            floor.append(_framework(root)[0])
            milliseconds, mib = _hub(root)
            ours.append(milliseconds)
            memory.append(mib)
            kept = with_bytecode(root / "bytecode")
            bare.append(run_through([str(BIN / "python"), "-c", "pass"], kept))
            helps.append(run_through([str(BIN / "jira-hub"), "--help"], kept))
        framework_mib = _framework(root)[1]
    pairs = list(zip(ours, floor, strict=True))[1:]  # the first start compiles, and makes the database
    target = Target("hub: start to first answer against fastapi + uvicorn", "≤", 1.5)
    rss = Target("hub: idle RSS", "≤", 80, of_ratio=False, unit="MiB")
    help_target = Target("hub: --help", "≤", 500, of_ratio=False, unit="ms")
    reference = median(floor[1:])
    return [
        Figure(START, "fastapi + uvicorn, one route", "floor", reference, "ms", ratio=1.0),
        Figure(START, "ours", "ours", median(ours[1:]), "ms", reference, middle_ratio(pairs), target=target),
        Figure(MEMORY, "fastapi + uvicorn, one route", "floor", framework_mib, "MiB", ratio=1.0),
        Figure(MEMORY, "ours", "ours", median(memory[1:]), "MiB", target=rss),
        Figure(HELP, "bare Python", "floor", median(bare[1:]), "ms", ratio=1.0),
        Figure(HELP, "ours", "ours", median(helps[1:]), "ms", target=help_target),
    ]


def _make_home(root: Path) -> None:
    from relay import create_link

    (root / "share").mkdir()
    create_link(root / "share" / LINK, LINK)


def _hub(root: Path) -> tuple[float, float]:
    port = free_port()
    told_hub = {"JIRA_HUB_HOME": str(root / "home"), "JIRA_HUB_SHARE": str(root / "share")}
    return _served([str(BIN / "jira-hub"), "serve", "--port", str(port)], told_hub, port, "/api/v1/health", root)


def _framework(root: Path) -> tuple[float, float]:
    port = free_port()
    return _served([str(BIN / "python"), "-c", FRAMEWORK, str(port)], {}, port, "/", root)


def _served(command: list[str], told_it: dict[str, str], port: int, path: str, root: Path) -> tuple[float, float]:
    """Milliseconds to the first answer, and MiB a second later."""
    begin, output = time.perf_counter(), root / "said.txt"
    with program(command, {**told_it, **with_bytecode(root / "bytecode")}, output) as process:
        first_answer(process, port, path, output)
        milliseconds = (time.perf_counter() - begin) * 1000
        time.sleep(IDLE_SECONDS)
        return milliseconds, rss_mib(process.pid)


# --- mirror


def mirror(plan: Plan) -> list[Figure]:
    told(f"hub: mirror of {plan.issues:,} issues")
    stored = []
    with scratch() as root, closing(OurQueue(root, "full")) as hub:
        for first in range(0, plan.issues, plan.reading):
            issues = [_issue(number) for number in range(first + 1, first + 1 + plan.reading)]
            stored.append(timed(hub.take_reading, issues)[0])
        settle()
        looks = {kind: list(_searches(hub, texts, plan.searches)) for kind, texts in SEARCHES.items()}
        plans = [timed(hub.plan, _wishes(plan.issues))[0] for _ in range(5)]
    report = Target("mirror: refresh of 10,000 issues stored", "≤", 5_000, of_ratio=False, unit="ms")
    return [
        Figure(MIRROR, f"ours, report of {plan.reading:,} issues", "ours", median(stored), "ms", target=report),
        *(_search_figure(plan, kind, took) for kind, took in looks.items()),
        Figure(
            MIRROR,
            f"ours, 1,000 commands planned beside {plan.issues:,}",
            "ours",
            median(plans),
            "ms",
            note="a fifth of them creations, each looked for among all summaries",
            target=Target("1,000 commands planned against the mirror", "≤", 2_000, of_ratio=False, unit="ms"),
        ),
    ]


def _search_figure(plan: Plan, kind: str, took: list[float]) -> Figure:
    target = Target(f"mirror: text search over 100,000 issues, {kind}, p95", "≤", 50, of_ratio=False, unit="ms")
    note = f"p50 {percentile(took, 50):.3g} ms, 50 hits a page at most"
    who = f"ours, search in {plan.issues:,}: {kind}"
    return Figure(MIRROR, who, "ours", percentile(took, 95), "ms", note=note, target=target)


def _issue(number: int) -> dict[str, Any]:
    words = [WORDS[(number // 10**place) % 10] for place in range(5)]
    return {
        "key": f"AURORA-{number}",
        "summary": f"{words[0].capitalize()} {words[1]} № {number}",
        "description": " ".join(words * 12),
        "status": "Открыт",
        "priority": "Средний",
        "labels": [words[2]],
    }


def _wishes(issues: int) -> list[dict[str, Any]]:
    """A thousand commands of five types over issues all through the mirror."""
    found: list[dict[str, Any]] = []
    for number in range(200):
        key, other = (f"AURORA-{1 + (number * 487 + shift) % issues}" for shift in (0, 11))
        found += [
            {"type": "ensure_issue", "temp_key": f"new:{number + 1}", "summary": f"{_issue(number)['summary']} заново"},
            {"type": "ensure_fields", "key": key, "priority": "Высокий"},
            {"type": "ensure_status", "key": key, "target": "Готово"},
            {"type": "ensure_link", "source": key, "target": other, "link_type": "связанные"},
            {"type": "ensure_sprint", "key": key, "sprint": "Спринт 2"},
        ]
    return found


def _searches(hub: OurQueue, texts: Sequence[str], count: int) -> Iterator[float]:
    """One kind of text by turns."""
    for number in range(count):
        yield timed(hub.search, texts[number % len(texts)])[0]
