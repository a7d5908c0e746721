"""Which handler answers which path. Unknown paths and verbs are refused as JAX-RS refuses them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from examples.jira import agile, comments, directory, issues, links, search, workflow
from examples.jira.context import Context
from examples.jira.http import Answer, Call, Refusal, answer_json

Handler = Callable[[Context, Call], Answer]
_API: Final = "/rest/api/(?:2|latest)"
_AGILE: Final = "/rest/agile/(?:1.0|latest)"
_KEY: Final = r"/issue/(?P<key>[^/]+)"

_TABLE: Final[tuple[tuple[str, Mapping[str, Handler]], ...]] = (
    (f"{_API}/serverInfo", {"GET": directory.server_info}),
    (f"{_API}/myself", {"GET": directory.myself}),
    (f"{_API}/mypermissions", {"GET": directory.permissions}),
    (f"{_API}/user", {"GET": directory.user}),
    (f"{_API}/field", {"GET": directory.fields}),
    (f"{_API}/priority", {"GET": directory.priorities}),
    (f"{_API}/issuetype", {"GET": directory.issue_types}),
    (f"{_API}/status", {"GET": directory.statuses}),
    (f"{_API}/resolution", {"GET": directory.resolutions}),
    (f"{_API}/(?P<kind>priority|issuetype|status|resolution)/(?P<id>[^/]+)", {"GET": directory.named}),
    (f"{_API}/project", {"GET": directory.all_projects}),
    (f"{_API}/project/(?P<project>[^/]+)", {"GET": directory.project}),
    (f"{_API}/project/(?P<project>[^/]+)/statuses", {"GET": directory.project_statuses}),
    (f"{_API}/search", {"GET": search.get_search, "POST": search.post_search}),
    (f"{_API}/issue", {"POST": issues.create_issue}),
    (f"{_API}/issue/createmeta", {"GET": issues.createmeta}),
    (f"{_API}/issue/createmeta/(?P<project>[^/]+)/issuetypes", {"GET": issues.createmeta_types}),
    (f"{_API}/issue/createmeta/(?P<project>[^/]+)/issuetypes/(?P<type>[^/]+)", {"GET": issues.createmeta_fields}),
    (f"{_API}{_KEY}", {"GET": issues.get_issue, "PUT": issues.edit_issue, "DELETE": issues.delete_issue}),
    (f"{_API}{_KEY}/properties", {"GET": issues.get_properties}),
    (f"{_API}{_KEY}/properties/(?P<property>[^/]+)", {"GET": issues.get_property, "PUT": issues.put_property}),
    (f"{_API}{_KEY}/comment", {"GET": comments.get_comments, "POST": comments.post_comment}),
    (f"{_API}{_KEY}/comment/(?P<comment>[^/]+)", {"GET": comments.get_comment, "PUT": comments.put_comment}),
    (f"{_API}{_KEY}/transitions", {"GET": workflow.get_transitions, "POST": workflow.do_transition}),
    (f"{_API}/issueLink", {"POST": links.post_link}),
    (f"{_API}/issueLink/(?P<id>[^/]+)", {"GET": links.get_link, "DELETE": links.delete_link}),
    (f"{_API}/issueLinkType", {"GET": links.link_types}),
    (f"{_API}/issueLinkType/(?P<id>[^/]+)", {"GET": links.link_type}),
    (f"{_AGILE}/board", {"GET": agile.get_boards}),
    (f"{_AGILE}/board/(?P<board>[^/]+)", {"GET": agile.get_board}),
    (f"{_AGILE}/board/(?P<board>[^/]+)/sprint", {"GET": agile.get_sprints}),
    (f"{_AGILE}/sprint/(?P<sprint>[^/]+)", {"GET": agile.get_sprint}),
    (f"{_AGILE}/sprint/(?P<sprint>[^/]+)/issue", {"POST": agile.post_sprint_issues}),
    (f"{_AGILE}/backlog/issue", {"POST": agile.post_backlog}),
    (f"{_AGILE}/epic/(?P<epic>[^/]+)/issue", {"POST": agile.post_epic_issues}),
)
_ROUTES: Final = tuple((re.compile(pattern), verbs) for pattern, verbs in _TABLE)


@dataclass(frozen=True, slots=True)
class Route:
    handler: Handler
    params: Mapping[str, str]


def find_route(method: str, path: str, base_url: str) -> Route | Answer:
    """The handler of a path, or the answer that there is none."""
    for pattern, verbs in _ROUTES:
        match = pattern.fullmatch(path.rstrip("/"))
        if match is None:
            continue
        if method in verbs:
            return Route(verbs[method], match.groupdict())
        return Refusal(405, ["Method Not Allowed"]).answer().with_headers([("allow", ",".join(sorted(verbs)))])
    return answer_json(404, {"message": f"null for uri: {base_url}{path}", "status-code": 404})
