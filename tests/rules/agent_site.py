"""A Jira as the rules see it: fields, types, link types of all three kinds."""

from agent.site import LinkType, Named, Site

BLOCKS = LinkType("блокирует", "10", "Blocks")
PART = LinkType("часть", "11", "Part", direction="inward")
RELATES = LinkType("связанные", "12", "Relates", symmetric=True)
SITE = Site(
    project="AURORA",
    user_name="svc",
    user_key="JIRAUSER1",
    board_id=12,
    epic_link_field="customfield_1",
    epic_name_field="customfield_2",
    sprint_field="customfield_3",
    planned_start_field="customfield_4",
    planned_end_field="customfield_5",
    issue_types={"task": Named("3", "Задача"), "epic": Named("5", "Эпик")},
    priorities=(Named("2", "Высокий"), Named("2", "High"), Named("3", "Средний")),
    link_types=(BLOCKS, PART, RELATES),
)
AGILE = Site(project="AURORA", user_name="svc", epic_mode="agile", issue_types=SITE.issue_types)
