-- What PostgreSQL has to be told in other words; every name stands in a file of SQLite's too, with the same parameters.

-- name: met(link, request_key)^
SELECT answer.status AS answered_status, answer.body AS answered_body,
  (SELECT CAST(json_object_agg(key, value ORDER BY key) AS TEXT) FROM setting WHERE setting.link = :link) AS settings,
  agent.link AS agent_link, agent.last_seen_at, agent.session, agent.host, agent.claim
FROM (SELECT 1) AS request
LEFT JOIN answer ON answer.link = :link AND answer.request_key = :request_key
LEFT JOIN agent_status AS agent ON agent.link = :link;

-- name: newest_ids()^
SELECT greatest(
    coalesce((SELECT max(id) FROM batch), 0),
    coalesce((SELECT CAST(value AS BIGINT) FROM setting WHERE link = 'main' AND key = 'batch_id_floor'), 0)) AS batch_id,
  greatest(
    coalesce((SELECT max(id) FROM command), 0),
    coalesce((SELECT CAST(value AS BIGINT) FROM setting WHERE link = 'main' AND key = 'command_id_floor'), 0)
  ) AS command_id;

-- name: add_event_at(id, link, command_id, from_status, to_status, why, at)!
INSERT INTO event (id, link, command_id, from_status, to_status, why, at)
VALUES (setval(pg_get_serial_sequence('event', 'id'), CAST(:id AS BIGINT)), :link, :command_id, :from_status, :to_status,
  :why, :at);

-- Nobody waits for old answers to go, and nobody is waited for.
-- name: forget_answers(before, newest)!
DELETE FROM answer WHERE id IN (
  SELECT id FROM answer WHERE at < :before AND id <= (SELECT max(id) FROM answer) - :newest
  ORDER BY id LIMIT 10000 FOR UPDATE SKIP LOCKED);

-- name: forget_plans(before)!
DELETE FROM plan WHERE id IN (
  SELECT id FROM plan WHERE created_at < :before ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED);

-- The previous release knows SQLite alone, so it has left nothing here to be made up for.
-- name: note_unknown_definers()!
UPDATE command SET defines = defines WHERE false;

-- name: note_unknown_needs()!
UPDATE command SET needs = needs WHERE false;

-- name: issues_by_key(link, keys)
SELECT * FROM issue WHERE link = :link AND key IN (SELECT json_array_elements_text(CAST(:keys AS JSON)));

-- name: links_by_key(link, keys)
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link
WHERE link = :link AND source IN (SELECT json_array_elements_text(CAST(:keys AS JSON)))
UNION
SELECT source, target, link_type, jira_id, managed, "symmetric" FROM issue_link
WHERE link = :link AND target IN (SELECT json_array_elements_text(CAST(:keys AS JSON)));

-- name: issues(link, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT * FROM issue
WHERE link = :link AND key > :after
  AND (CAST(:status AS TEXT) IS NULL OR status = :status) AND (CAST(:type AS TEXT) IS NULL OR issue_type = :type)
  AND (CAST(:priority AS TEXT) IS NULL OR priority = :priority)
  AND (CAST(:assignee AS TEXT) IS NULL OR assignee = :assignee)
  AND (CAST(:epic AS TEXT) IS NULL OR epic_key = :epic) AND (CAST(:sprint AS TEXT) IS NULL OR sprint = :sprint)
  AND (CAST(:label AS TEXT) IS NULL OR jsonb_exists(CAST(coalesce(labels, '[]') AS JSONB), :label))
  AND (CAST(:state AS TEXT) IS NULL OR :state = CASE WHEN missing_at IS NOT NULL THEN 'missing'
    WHEN moved_to IS NOT NULL THEN 'moved' WHEN refreshed_at IS NULL THEN 'imported'
    WHEN archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
ORDER BY key LIMIT :limit;

-- The words come quoted, as the index of SQLite wants them; here each is looked for in the text, case folded by ICU:
-- the server's own language may know Latin letters only.
-- name: issues_with_text(link, match, grams, wholes, globs, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT * FROM issue
WHERE link = :link AND id > :after AND CAST(:grams AS TEXT) IS NOT NULL AND CAST(:wholes AS TEXT) IS NOT NULL
  AND (CAST(:status AS TEXT) IS NULL OR status = :status) AND (CAST(:type AS TEXT) IS NULL OR issue_type = :type)
  AND (CAST(:priority AS TEXT) IS NULL OR priority = :priority)
  AND (CAST(:assignee AS TEXT) IS NULL OR assignee = :assignee)
  AND (CAST(:epic AS TEXT) IS NULL OR epic_key = :epic) AND (CAST(:sprint AS TEXT) IS NULL OR sprint = :sprint)
  AND (CAST(:label AS TEXT) IS NULL OR jsonb_exists(CAST(coalesce(labels, '[]') AS JSONB), :label))
  AND (CAST(:state AS TEXT) IS NULL OR :state = CASE WHEN missing_at IS NOT NULL THEN 'missing'
    WHEN moved_to IS NOT NULL THEN 'moved' WHEN refreshed_at IS NULL THEN 'imported'
    WHEN archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
  AND NOT EXISTS (SELECT 1 FROM regexp_matches(:match, '"((?:[^"]|"")+)"', 'g') AS word(found)
    WHERE strpos(lower(concat_ws(' ', key, summary, description) COLLATE "und-x-icu"),
      lower(replace(found[1], '""', '"') COLLATE "und-x-icu")) = 0)
  AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(CAST(:globs AS JSON)) AS short(glob)
    WHERE concat_ws(' ', key, summary) COLLATE "C"
      !~ regexp_replace(substring(glob FROM 2 FOR length(glob) - 2), '([.+(){}^$|\\])', '\\\1', 'g'))
ORDER BY id LIMIT :limit;

-- name: issues_with_letters(link, glob, globs, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT * FROM issue
WHERE link = :link AND id > :after
  AND (CAST(:status AS TEXT) IS NULL OR status = :status) AND (CAST(:type AS TEXT) IS NULL OR issue_type = :type)
  AND (CAST(:priority AS TEXT) IS NULL OR priority = :priority)
  AND (CAST(:assignee AS TEXT) IS NULL OR assignee = :assignee)
  AND (CAST(:epic AS TEXT) IS NULL OR epic_key = :epic) AND (CAST(:sprint AS TEXT) IS NULL OR sprint = :sprint)
  AND (CAST(:label AS TEXT) IS NULL OR jsonb_exists(CAST(coalesce(labels, '[]') AS JSONB), :label))
  AND (CAST(:state AS TEXT) IS NULL OR :state = CASE WHEN missing_at IS NOT NULL THEN 'missing'
    WHEN moved_to IS NOT NULL THEN 'moved' WHEN refreshed_at IS NULL THEN 'imported'
    WHEN archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
  AND NOT EXISTS (
    SELECT 1 FROM (
      SELECT CAST(:glob AS TEXT) UNION ALL SELECT json_array_elements_text(CAST(:globs AS JSON))) AS short(glob)
    WHERE concat_ws(' ', key, summary) COLLATE "C"
      !~ regexp_replace(substring(glob FROM 2 FOR length(glob) - 2), '([.+(){}^$|\\])', '\\\1', 'g'))
ORDER BY id LIMIT :limit;

-- name: commands(link, status, type, batch_id, key, text, before, limit)
SELECT * FROM command
WHERE link = :link AND id < :before
  AND (CAST(:status AS TEXT) IS NULL OR status = :status) AND (CAST(:type AS TEXT) IS NULL OR type = :type)
  AND (CAST(:batch_id AS BIGINT) IS NULL OR batch_id = :batch_id)
  AND (CAST(:key AS TEXT) IS NULL OR strpos(params, '"' || CAST(:key AS TEXT) || '"') > 0
    OR strpos(coalesce(result, ''), '"' || CAST(:key AS TEXT) || '"') > 0)
  AND (CAST(:text AS TEXT) IS NULL OR strpos(params, CAST(:text AS TEXT)) > 0
    OR strpos(coalesce(error, ''), CAST(:text AS TEXT)) > 0)
ORDER BY id DESC LIMIT :limit;

-- name: batches(link, before, held, limit)
SELECT id, link, author, title, created_at, cancelled_at, backup_path, held FROM batch
WHERE link = :link AND id < :before
  AND (CAST(:held AS INTEGER) IS NULL OR (held = :held AND cancelled_at IS NULL))
ORDER BY id DESC LIMIT :limit;
