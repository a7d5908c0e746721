-- The queue: batches, commands, events, stored answers. Claim and report use only partial indexes and unique keys.

-- All that a use case asks for at its start, at once: what was answered before, and how the link and its agent are.
-- name: met(link, request_key)^
SELECT answer.status AS answered_status, answer.body AS answered_body,
  (SELECT json_group_object(key, value) FROM setting WHERE setting.link = :link) AS settings,
  agent.link AS agent_link, agent.last_seen_at, agent.session, agent.host, agent.claim
FROM (SELECT 1) AS request
LEFT JOIN answer ON answer.link = :link AND answer.request_key = :request_key
LEFT JOIN agent_status AS agent ON agent.link = :link;

-- name: reported(link, id, request_key)^
SELECT command.*, answer.status AS answered_status, answer.body AS answered_body
FROM (SELECT 1) AS request
LEFT JOIN answer ON answer.link = :link AND answer.request_key = :request_key
LEFT JOIN command ON command.id = :id AND command.link = :link;

-- name: store_answer(link, request_key, status, body, at)!
INSERT INTO answer (link, request_key, status, body, at) VALUES (:link, :request_key, :status, :body, :at);

-- name: params(link, id)^
SELECT params FROM command WHERE id = :id AND link = :link;

-- name: forget_answers(before, newest)!
DELETE FROM answer WHERE id <= (SELECT max(id) FROM answer) - :newest AND id < coalesce(
  (SELECT id FROM answer WHERE at >= :before ORDER BY id LIMIT 1), (SELECT max(id) + 1 FROM answer));

-- name: queued_at(id)^
SELECT batch.created_at FROM command JOIN batch ON batch.id = command.batch_id WHERE command.id = :id;

-- name: claimed_commands(link)
SELECT id, batch_id, type, params, claimed_at, deliveries, first_claimed_at, root_id, held
FROM command WHERE link = :link AND status = 'claimed' ORDER BY claimed_at, id;

-- What a claim chooses from: everything that is claimed, and the first in the queue behind a place.
-- name: due(link, batch_id, seq)
SELECT id, batch_id, seq, type, params, status, claimed_at, deliveries, first_claimed_at, root_id, needs,
  NULL AS backup_path
FROM command WHERE link = :link AND status = 'claimed' AND held = 0
UNION ALL
SELECT * FROM (
  SELECT id, batch_id, seq, type, params, status, claimed_at, deliveries, first_claimed_at, root_id, needs,
    (SELECT backup_path FROM batch WHERE batch.id = command.batch_id) AS backup_path
  FROM command
  WHERE link = :link AND status = 'queued' AND held = 0 AND (batch_id, seq) > (:batch_id, :seq)
  ORDER BY batch_id, seq LIMIT 1) AS first_queued;

-- name: definer(batch_id, defines)^
SELECT id, status, result FROM command WHERE batch_id = :batch_id AND defines = :defines;

-- name: deliver(id, at, params, deliveries)!
UPDATE command SET status = 'claimed', claimed_at = :at, first_claimed_at = coalesce(first_claimed_at, :at),
  deliveries = :deliveries, params = :params, needs = NULL
WHERE id = :id;

-- name: finish(id, status, result, error, jira_calls, rate_limited, at)!
UPDATE command SET status = :status, result = :result, error = :error, jira_calls = :jira_calls,
  rate_limited = :rate_limited, finished_at = :at
WHERE id = :id;

-- name: end_without_report(id, status, error, at)!
UPDATE command SET status = :status, error = :error, finished_at = :at WHERE id = :id;

-- name: keep_creation(id, result, jira_calls, rate_limited)!
UPDATE command SET result = :result, jira_calls = :jira_calls, rate_limited = :rate_limited WHERE id = :id;

-- name: add_event(link, command_id, from_status, to_status, why, at)!
INSERT INTO event (link, command_id, from_status, to_status, why, at)
VALUES (:link, :command_id, :from_status, :to_status, :why, :at);

-- name: add_late_result(command_id, report, at)!
INSERT INTO late_result (command_id, report, at) VALUES (:command_id, :report, :at);

-- name: late_results(command_id)
SELECT report, at FROM late_result WHERE command_id = :command_id ORDER BY id LIMIT 100;

-- name: command(link, id)^
SELECT * FROM command WHERE id = :id AND link = :link;

-- name: commands_of_batch(batch_id)
SELECT * FROM command WHERE batch_id = :batch_id ORDER BY seq;

-- name: queued_of_batch(batch_id)
SELECT id, type, needs, defines, seq FROM command WHERE batch_id = :batch_id AND status = 'queued' ORDER BY seq;

-- name: events_of_command(command_id)
SELECT id, from_status, to_status, why, at FROM event WHERE command_id = :command_id ORDER BY id LIMIT 200;

-- name: events_after(link, id)
SELECT id, command_id, from_status, to_status, why, at FROM event
WHERE id > :id AND link = :link ORDER BY id LIMIT 500;

-- name: newest_event_id()^
SELECT coalesce(max(id), 0) AS id FROM event;

-- The floors are those of a restored database: what is below may have been used in the life that was lost.
-- name: newest_ids()^
SELECT max(
    coalesce((SELECT max(id) FROM batch), 0),
    coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE link = 'main' AND key = 'batch_id_floor'), 0)) AS batch_id,
  max(
    coalesce((SELECT max(id) FROM command), 0),
    coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE link = 'main' AND key = 'command_id_floor'), 0)
  ) AS command_id;

-- name: add_batch(id, link, author, title, at, held)!
INSERT INTO batch (id, link, author, title, created_at, held) VALUES (:id, :link, :author, :title, :at, :held);

-- name: add_commands(id, link, batch_id, seq, type, params, held, needs, defines, retry_of, root_id)*!
INSERT INTO command (id, link, batch_id, seq, type, params, held, needs, defines, retry_of, root_id)
VALUES (:id, :link, :batch_id, :seq, :type, :params, :held, :needs, :defines, :retry_of, :root_id);

-- name: add_events(link, command_id, from_status, to_status, why, at)*!
INSERT INTO event (link, command_id, from_status, to_status, why, at)
VALUES (:link, :command_id, :from_status, :to_status, :why, :at);

-- name: batch(link, id)^
SELECT id, link, author, title, created_at, cancelled_at, backup_path, held FROM batch WHERE id = :id AND link = :link;

-- name: batches(link, before, held, limit)
SELECT id, link, author, title, created_at, cancelled_at, backup_path, held FROM batch
WHERE link = :link AND id < :before AND (:held IS NULL OR (held = :held AND cancelled_at IS NULL))
ORDER BY id DESC LIMIT :limit;

-- name: held_batches(link)^
SELECT count(*) AS number FROM batch WHERE link = :link AND held = 1 AND cancelled_at IS NULL;

-- name: batch_counts(batch_id)
SELECT status, count(*) AS number FROM command WHERE batch_id = :batch_id GROUP BY status;

-- name: set_backup_path(id, path)!
UPDATE batch SET backup_path = :path WHERE id = :id;

-- name: cancel_batch(id, at)!
UPDATE batch SET cancelled_at = :at WHERE id = :id AND cancelled_at IS NULL;

-- name: release_batch(id)!
UPDATE batch SET held = 0 WHERE id = :id;

-- name: release_commands(batch_id)!
UPDATE command SET held = 0 WHERE batch_id = :batch_id;

-- name: done_of_root(root_id)^
SELECT id, result FROM command WHERE (root_id = :root_id OR id = :root_id) AND status = 'done' LIMIT 1;

-- name: commands(link, status, type, batch_id, key, text, before, limit)
SELECT * FROM command
WHERE link = :link AND id < :before
  AND (:status IS NULL OR status = :status) AND (:type IS NULL OR type = :type)
  AND (:batch_id IS NULL OR batch_id = :batch_id)
  AND (:key IS NULL OR instr(params, '"' || :key || '"') > 0 OR instr(coalesce(result, ''), '"' || :key || '"') > 0)
  AND (:text IS NULL OR instr(params, :text) > 0 OR instr(coalesce(error, ''), :text) > 0)
ORDER BY id DESC LIMIT :limit;

-- name: counts(link)
SELECT 'queued' AS status, count(*) AS number FROM command WHERE link = :link AND status = 'queued'
UNION ALL
SELECT 'claimed' AS status, count(*) AS number FROM command WHERE link = :link AND status = 'claimed'
UNION ALL
SELECT status, count(*) AS number FROM command
WHERE link = :link AND status NOT IN ('queued', 'claimed') GROUP BY status;

-- name: queued_types(link)
SELECT type, count(*) AS number FROM command WHERE link = :link AND status = 'queued' AND held = 0 GROUP BY type;

-- Back from a while under the previous release, which knows neither deliveries nor the columns of temporary keys.

-- name: count_unknown_deliveries()!
UPDATE command SET deliveries = 1, first_claimed_at = coalesce(first_claimed_at, claimed_at)
WHERE status = 'claimed' AND deliveries = 0;

-- name: note_unknown_definers()!
UPDATE command SET defines = json_extract(params, '$.temp_key')
WHERE type = 'ensure_issue' AND defines IS NULL
  AND batch_id IN (SELECT batch_id FROM command AS waiting WHERE waiting.status = 'queued');

-- name: note_unknown_needs()!
UPDATE command SET needs = (
  SELECT group_concat(found.value, ' ') FROM (
    SELECT DISTINCT tree.value AS value FROM json_tree(command.params) AS tree
    WHERE tree.type = 'text' AND tree.value GLOB 'new:[0-9]*'
      AND ((tree.path = '$' AND tree.key IN ('key', 'source', 'target', 'epic_key')) OR tree.path = '$.keys')
  ) AS found)
WHERE status = 'queued' AND needs IS NULL AND instr(params, '"new:') > 0;
