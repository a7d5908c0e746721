"""What people do in a simulated world: plan at the hub, change their minds, edit Jira behind the bridge's back."""

import json
import sqlite3
from typing import TYPE_CHECKING, Any, Final

import httpx2

from examples.jira.app import JiraTransport
from hub.errors import Refusal
from tests.simulation.virtual_time import PowerCut

if TYPE_CHECKING:
    from tests.simulation.world import World

ISSUES: Final = ("AURORA-1533", "AURORA-1534", "AURORA-1537", "AURORA-1538")
SUMMARIES: Final = ("Отчёт", "Сводка по складу", "План", "Выгрузка")


class People:
    """The persons of one world; what they decide comes from its chance alone."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._control = httpx2.Client(transport=JiraTransport(world.jira), base_url="http://jira.test")
        self._numbers = 0

    # --- at the hub

    def apply(self, *commands: dict[str, Any]) -> list[int]:
        """Create a batch; the ids of its commands, the trailing refresh included."""
        answer = self._world.hub.service.create_batch("main", "person", "Пакет", list(commands))
        self._world.told("person", f"creates a batch of {len(commands)}", "hub")
        return [command["id"] for command in json.loads(answer.body)["commands"]]

    def cancel(self, command_id: int, *, force: bool = False) -> None:
        self._world.told("person", f"cancels command {command_id}{' with force' if force else ''}", "hub")
        self._world.hub.service.cancel_command("main", command_id, "person", force=force)

    def retry(self, command_id: int) -> Any:
        self._world.told("person", f"retries command {command_id}", "hub")
        return self._world.hub.service.retry_command("main", command_id, "person")

    def some_batch(self) -> None:
        """Plan something."""
        chance = self._world.weather.chance
        commands: list[dict[str, Any]] = []
        keys: list[str] = list(ISSUES)
        for _ in range(chance.choice((1, 1, 2, 3, 5))):
            wish = self._some_wish(keys)
            if wish["type"] != "ensure_issue" or wish["summary"] not in [one.get("summary") for one in commands]:
                commands.append(wish)
                keys += [wish["temp_key"]] if wish["type"] == "ensure_issue" else []
        self._try(lambda: self.apply(*commands))

    def _some_wish(self, keys: list[str]) -> dict[str, Any]:
        chance = self._world.weather.chance
        key = chance.choice(keys)
        self._numbers += 1
        match chance.choice(("issue", "issue", "fields", "comment", "status", "link", "sprint", "refresh")):
            case "issue":
                new = {"type": "ensure_issue", "temp_key": f"new:{self._numbers}", "summary": chance.choice(SUMMARIES)}
                return new | ({"duedate": "2026-12-01"} if chance.random() < 0.3 else {})
            case "fields":
                day = 1 + chance.randrange(28)
                return {"type": "ensure_fields", "key": key, "duedate": f"2026-11-{day:02d}", "labels_add": ["план"]}
            case "comment":
                marker = f"plan:{chance.randrange(3)}{self._numbers}"
                return {"type": "ensure_comment", "key": key, "marker": marker, "body": f"текст {self._numbers}"}
            case "status":
                target = chance.choice((["Разработка"], ["Разработка", "Готово"], ["Ожидание разработки"]))
                return {"type": "ensure_status", "key": key, "target": target}
            case "link":
                target = chance.choice([one for one in ISSUES if one != key])
                kind = chance.choice(("связанные", "блокирует начало"))
                replace = chance.random() < 0.7
                return {"type": "ensure_link", "source": key, "target": target, "link_type": kind, "replace": replace}
            case "sprint":
                return {
                    "type": "ensure_sprint",
                    "key": key,
                    "sprint": chance.choice(("Спринт 1", "Спринт 2", "backlog")),
                }
        return {"type": "refresh", "keys": list(ISSUES[:2])}

    def change_their_mind(self, kind: str) -> bool:
        """Cancel, retry, pause or change the policy; whether there was anything to do it to."""
        world, chance = self._world, self._world.weather.chance
        if world.hub.process is None:
            return False
        service = world.hub.service
        match kind:
            case "force cancel" | "cancel":
                wanted = "claimed" if kind == "force cancel" else "queued"
                found = [row["id"] for row in world.commands() if row["status"] == wanted]
                return bool(found) and self._try(lambda: self.cancel(chance.choice(found), force=wanted == "claimed"))
            case "retry":
                repeated = {row["retry_of"] for row in world.commands()}
                found = [
                    row["id"]
                    for row in world.commands()
                    if row["status"] in ("failed", "cancelled") and row["id"] not in repeated
                ]
                return bool(found) and self._try(lambda: self.retry(chance.choice(found)))
            case "pause":
                world.told("person", "pauses the link", "hub")
                world.time.at(world.time.now + chance.choice((60.0, 1800.0)), self.resume)
                return self._try(lambda: service.change_settings("main", {"paused": True}))
            case "policy":
                gap = chance.choice((60.0, 120.0, 240.0))
                world.told("person", f"sets the gap of ensure_issue to {gap}", "hub")
                return self._try(lambda: service.change_settings("main", {"pacing": {"ensure_issue": gap}}))
        raise AssertionError(kind)

    def resume(self) -> None:
        """Let the link go on; who gets no answer tries again."""
        resumed: list[bool] = []
        if self._world.hub.process is not None:
            service = self._world.hub.service
            self._try(lambda: (service.change_settings("main", {"paused": False}), resumed.append(True)))
        if not resumed:
            self._world.time.at(self._world.time.now + 30.0, self.resume)

    def adopt(self) -> None:
        self._world.told("person", "lets another agent take the link over", "hub")
        self._world.witness.holder = None
        self._world.witness.agent_forgot()
        self._try(lambda: self._world.hub.service.adopt("main"))

    def look_after(self) -> None:
        """What a person does who sees to it that the queue goes on: let held batches go, end a conflict of agents."""
        world = self._world
        if world.hub.process is None:
            return
        for batch_id in sorted({row["batch_id"] for row in world.commands() if row["held"]}):
            self._try(lambda batch_id=batch_id: world.hub.service.approve_batch("main", batch_id))
        refused = world.witness.refused_at
        if refused is not None and world.time.now - refused < 900.0:
            world.witness.refused_at = None
            self.adopt()

    def some_or_other(self, action: Any) -> None:
        """Do something at the hub, whatever it answers, even if it dies of it."""
        if self._world.hub.process is not None:
            self._try(action)

    def _try(self, action: Any) -> bool:
        try:
            action()
        except (Refusal, sqlite3.OperationalError) as refusal:
            self._world.told("hub", f"refuses: {refusal}", "person")
        except PowerCut:
            self._world.told("hub", "does not answer", "person")
        return True

    # --- at Jira

    def edit(self, **edit: Any) -> None:
        self._control.post("/control/edits", json=edit).raise_for_status()
        self._world.told("person", f"{edit.get('action')} {edit.get('key', '')}", "Jira")
        self._world.witness.jira_changed()

    def edit_something(self, kind: str) -> bool:
        """One edit in the browser; whether there was an issue for it."""
        world, chance = self._world, self._world.weather.chance
        created = [
            issue.key
            for issue in world.jira.store.issues()
            if issue.properties and issue.project == "AURORA" and not world.is_under_way(issue.key)
        ]
        match kind:
            case "person edits":
                key = chance.choice(ISSUES)
                fields: Any = chance.choice(({"duedate": "2026-10-01"}, {"labels": []}, {"description": "иначе"}))
                self.edit(action="edit", key=key, fields=fields)
                return True
            case "person renames":
                own = [issue.key for issue in world.jira.store.issues() if issue.properties]
                if own:
                    self.edit(action="edit", key=chance.choice(own), fields={"summary": f"Иначе {world.time.now:.0f}"})
                return bool(own)
            case "person deletes":
                if created:
                    key = chance.choice(created)
                    world.witness.deleted.add(key)
                    world.witness.taken_away.add(key)
                    self.edit(action="delete", key=key)
                return bool(created)
            case "person moves":
                if created:
                    key = chance.choice(created)
                    world.witness.taken_away.add(key)
                    self.edit(action="move", key=key, project="BOREAL")
                return bool(created)
        raise AssertionError(kind)

    def close(self) -> None:
        self._control.close()
