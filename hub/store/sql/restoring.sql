-- What a restored database is asked, and how everything open in it is put on hold.

-- name: life()^
SELECT coalesce((SELECT max(id) FROM event), 0) AS event_id,
  (SELECT value FROM setting WHERE link = 'main' AND key = 'epoch') AS epoch;

-- name: open_commands()
SELECT id, link, type, params, status FROM command WHERE status = 'queued'
UNION ALL
SELECT id, link, type, params, status FROM command WHERE status = 'claimed'
ORDER BY id;

-- name: hold_open_commands()!
UPDATE command SET held = 1 WHERE status IN ('queued', 'claimed');

-- name: hold_open_batches()!
UPDATE batch SET held = 1 WHERE id IN (SELECT batch_id FROM command WHERE status IN ('queued', 'claimed'));

-- name: add_event_at(id, link, command_id, from_status, to_status, why, at)!
INSERT INTO event (id, link, command_id, from_status, to_status, why, at)
VALUES (:id, :link, :command_id, :from_status, :to_status, :why, :at);

-- name: links_with_issues()
SELECT DISTINCT link FROM issue;

-- name: mirrored_keys(link, limit)
SELECT key FROM issue WHERE link = :link AND missing_at IS NULL AND moved_to IS NULL ORDER BY id LIMIT :limit;
