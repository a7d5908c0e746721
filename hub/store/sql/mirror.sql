-- The mirror of Jira's issues and the local notes.

-- name: put_issues(link, key, jira_id, summary, description, issue_type, status, status_id, priority, assignee, duedate, planned_start, planned_end, labels, epic_key, sprint, sprint_id, created, updated, archived_at, at, began_at)*!
INSERT INTO issue (link, key, jira_id, summary, description, issue_type, status, status_id, priority, assignee, duedate,
  planned_start, planned_end, labels, epic_key, sprint, sprint_id, created, updated, archived_at, refreshed_at,
  reading_began_at)
VALUES (:link, :key, :jira_id, :summary, :description, :issue_type, :status, :status_id, :priority, :assignee, :duedate,
  :planned_start, :planned_end, :labels, :epic_key, :sprint, :sprint_id, :created, :updated, :archived_at, :at,
  :began_at)
ON CONFLICT (link, key) DO UPDATE SET jira_id = excluded.jira_id, summary = excluded.summary,
  description = excluded.description, issue_type = excluded.issue_type, status = excluded.status,
  status_id = excluded.status_id, priority = excluded.priority, assignee = excluded.assignee,
  duedate = excluded.duedate, planned_start = excluded.planned_start, planned_end = excluded.planned_end,
  labels = excluded.labels, epic_key = excluded.epic_key, sprint = excluded.sprint, sprint_id = excluded.sprint_id,
  created = excluded.created, updated = excluded.updated, archived_at = excluded.archived_at,
  refreshed_at = excluded.refreshed_at,
  reading_began_at = excluded.reading_began_at, missing_at = NULL, moved_to = NULL;

-- name: drop_links_out(link, key)*!
DELETE FROM issue_link WHERE link = :link AND source = :key;

-- name: drop_links_in(link, key)*!
DELETE FROM issue_link WHERE link = :link AND target = :key;

-- name: put_links(link, source, target, link_type, jira_id, managed, symmetric)*!
INSERT INTO issue_link (link, source, target, link_type, jira_id, managed, "symmetric")
VALUES (:link, :source, :target, :link_type, :jira_id, :managed, :symmetric)
ON CONFLICT (link, source, target, link_type) DO UPDATE SET jira_id = excluded.jira_id, managed = excluded.managed,
  "symmetric" = excluded."symmetric";

-- name: mark_missing(link, key, at, began_at)*!
INSERT INTO issue (link, key, refreshed_at, reading_began_at, missing_at) VALUES (:link, :key, :at, :began_at, :at)
ON CONFLICT (link, key) DO UPDATE SET missing_at = excluded.missing_at, refreshed_at = excluded.refreshed_at,
  reading_began_at = excluded.reading_began_at;

-- name: mark_moved(link, key, moved_to, at, began_at)*!
INSERT INTO issue (link, key, refreshed_at, reading_began_at, moved_to) VALUES (:link, :key, :at, :began_at, :moved_to)
ON CONFLICT (link, key) DO UPDATE SET moved_to = excluded.moved_to, refreshed_at = excluded.refreshed_at,
  reading_began_at = excluded.reading_began_at;

-- name: issue(link, key)^
SELECT * FROM issue WHERE link = :link AND key = :key;

-- name: links_of(link, key)
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link WHERE link = :link AND source = :key
UNION ALL
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link
WHERE link = :link AND target = :key AND source <> :key;

-- name: mirror_age(link)^
SELECT count(*) AS issues, min(refreshed_at) AS oldest_at, max(refreshed_at) AS newest_at FROM issue WHERE link = :link;

-- name: add_part(command_id, delivery, part, total, body)!
INSERT INTO reading_part (command_id, delivery, part, total, body) VALUES (:command_id, :delivery, :part, :total, :body)
ON CONFLICT (command_id, delivery, part) DO UPDATE SET body = excluded.body, total = excluded.total;

-- name: parts(command_id, delivery)
SELECT part, total, body FROM reading_part WHERE command_id = :command_id AND delivery = :delivery ORDER BY part;

-- name: drop_parts(command_id)!
DELETE FROM reading_part WHERE command_id = :command_id;

-- name: note(link, key)^
SELECT key, text, updated_at FROM note WHERE link = :link AND key = :key;

-- name: notes(link, after, limit)
SELECT key, text, updated_at FROM note WHERE link = :link AND key > :after ORDER BY key LIMIT :limit;

-- name: put_note(link, key, text, at)!
INSERT INTO note (link, key, text, updated_at) VALUES (:link, :key, :text, :at)
ON CONFLICT (link, key) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at;

-- name: drop_note(link, key)!
DELETE FROM note WHERE link = :link AND key = :key;

-- What an automatic refresh is decided by: the oldest reading, the newest such batch, what waits or is under way.
-- name: mirror_standing(link, author)^
SELECT
  (SELECT min(coalesce(refreshed_at, '1970-01-01T00:00:00.000000Z')) FROM issue
   WHERE link = :link AND missing_at IS NULL AND moved_to IS NULL) AS oldest_at,
  (SELECT max(created_at) FROM batch WHERE link = :link AND author = :author) AS last_auto_at,
  (SELECT count(*) FROM command WHERE link = :link AND status = 'claimed')
  + (SELECT count(*) FROM command WHERE link = :link AND status = 'queued' AND held = 0) AS waiting;

-- name: stale_keys(link, before, limit)
SELECT key FROM issue
WHERE link = :link AND missing_at IS NULL AND moved_to IS NULL AND (refreshed_at IS NULL OR refreshed_at <= :before)
ORDER BY coalesce(refreshed_at, ''), key LIMIT :limit;

-- name: links_that_renew()
SELECT link FROM setting WHERE key = 'auto_refresh_minutes' AND value <> '0' ORDER BY link;

-- An issue that Jira itself has shown stays as it was shown.
-- name: import_issues(link, key, summary, description, issue_type, status, priority, assignee, duedate, planned_start, planned_end, labels, epic_key, sprint)*!
INSERT INTO issue (link, key, summary, description, issue_type, status, priority, assignee, duedate, planned_start,
  planned_end, labels, epic_key, sprint)
VALUES (:link, :key, :summary, :description, :issue_type, :status, :priority, :assignee, :duedate, :planned_start,
  :planned_end, :labels, :epic_key, :sprint)
ON CONFLICT (link, key) DO UPDATE SET summary = excluded.summary, description = excluded.description,
  issue_type = excluded.issue_type, status = excluded.status, priority = excluded.priority,
  assignee = excluded.assignee, duedate = excluded.duedate, planned_start = excluded.planned_start,
  planned_end = excluded.planned_end, labels = excluded.labels, epic_key = excluded.epic_key, sprint = excluded.sprint
WHERE issue.refreshed_at IS NULL;
