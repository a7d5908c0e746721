"""What the database tells a scrape, in the open transaction: commands, deliveries, seconds, ages."""

from hub.metrics import Family, Sample
from hub.moments import seconds_between
from hub.store.connection import Row, Transaction


def measured(transaction: Transaction) -> tuple[Family, ...]:
    """Every link's figures. Commands are never deleted, so sums over them only grow, over restarts too."""
    commands = transaction.all("measured_commands")
    of_type = [(row, {"link": row["link"], "type": row["type"]}) for row in commands]
    links = transaction.all("measured_links")
    finished = [(row, labels) for row, labels in of_type if row["timed"]]
    ages = [
        (row["link"], name, seconds_between(row[name], transaction.now))
        for row in links
        for name in ("agent_seen_at", "queued_at", "mirror_at")
        if row[name] is not None
    ]

    def age(name: str) -> list[Sample]:
        return [Sample(seconds, {"link": link}) for link, found, seconds in ages if found == name]

    return (
        Family(
            "jira_hub_commands",
            "gauge",
            "Commands by type and status.",
            [Sample(row["number"], {**labels, "status": row["status"]}) for row, labels in of_type],
        ),
        Family(
            "jira_hub_command_seconds",
            "summary",
            "Seconds from the first delivery of a command to its end.",
            [
                Sample(row[name], {**labels, "status": row["status"]}, suffix)
                for row, labels in finished
                for name, suffix in (("seconds", "_sum"), ("timed", "_count"))
            ],
        ),
        _summed("jira_hub_deliveries_total", "Deliveries of commands to the agent.", of_type, "deliveries"),
        _summed("jira_hub_redeliveries_total", "Deliveries after the first.", of_type, "redeliveries"),
        _summed("jira_hub_jira_calls_total", "HTTP requests the agent sent to Jira.", of_type, "jira_calls"),
        _summed(
            "jira_hub_rate_limited_total", "Refusals of Jira because of too many requests.", of_type, "rate_limited"
        ),
        Family("jira_hub_agent_silent_seconds", "gauge", "Since the agent was last seen.", age("agent_seen_at")),
        Family("jira_hub_queue_age_seconds", "gauge", "Age of the batch that waits longest.", age("queued_at")),
        Family("jira_hub_mirror_age_seconds", "gauge", "Age of the oldest reading in the mirror.", age("mirror_at")),
    )


def _summed(name: str, says: str, of_type: list[tuple[Row, dict[str, str]]], column: str) -> Family:
    """One counter a type, over all statuses."""
    sums: dict[tuple[str, str], float] = {}
    for row, labels in of_type:
        key = (labels["link"], labels["type"])
        sums[key] = sums.get(key, 0) + row[column]
    return Family(
        name, "counter", says, [Sample(value, {"link": link, "type": kind}) for (link, kind), value in sums.items()]
    )
