-- What a plan looks at in the mirror, all of a batch's keys at once, and the plans themselves.

-- name: issues_by_key(link, keys)
SELECT * FROM issue WHERE link = :link AND key IN (SELECT value FROM json_each(:keys));

-- name: links_by_key(link, keys)
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link
WHERE link = :link AND source IN (SELECT value FROM json_each(:keys))
UNION
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link
WHERE link = :link AND target IN (SELECT value FROM json_each(:keys));

-- name: statuses_shown(link)
SELECT DISTINCT status FROM issue WHERE link = :link AND status IS NOT NULL AND missing_at IS NULL;

-- name: priorities_shown(link)
SELECT DISTINCT priority FROM issue WHERE link = :link AND priority IS NOT NULL AND missing_at IS NULL;

-- name: sprints_shown(link)
SELECT DISTINCT sprint, sprint_id FROM issue
WHERE link = :link AND sprint IS NOT NULL AND sprint_id IS NOT NULL AND missing_at IS NULL;

-- name: summaries_shown(link)
SELECT key, summary, status FROM issue
WHERE link = :link AND summary IS NOT NULL AND missing_at IS NULL AND moved_to IS NULL ORDER BY id;

-- name: add_plan(id, link, author, title, commands, digest, at, refresh_batch_id)!
INSERT INTO plan (id, link, author, title, commands, digest, created_at, refresh_batch_id)
VALUES (:id, :link, :author, :title, :commands, :digest, :at, :refresh_batch_id);

-- name: newest_plan_id()^
SELECT coalesce(max(id), 0) AS id FROM plan;

-- name: plan(link, id)^
SELECT * FROM plan WHERE id = :id AND link = :link;

-- name: plan_applied(id, batch_id)!
UPDATE plan SET batch_id = :batch_id WHERE id = :id;

-- name: forget_plans(before)!
DELETE FROM plan WHERE id IN (SELECT id FROM plan WHERE created_at < :before ORDER BY id LIMIT 1000);
