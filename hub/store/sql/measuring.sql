-- What a scrape reads: one walk over the commands, and the ages of each link.

-- name: measured_commands()
SELECT link, type, status, count(*) AS number, sum(deliveries) AS deliveries,
  sum(CASE WHEN deliveries > 1 THEN deliveries - 1 ELSE 0 END) AS redeliveries,
  sum(coalesce(jira_calls, 0)) AS jira_calls, sum(coalesce(rate_limited, 0)) AS rate_limited,
  sum(CASE WHEN finished_at IS NOT NULL AND first_claimed_at IS NOT NULL THEN 1 ELSE 0 END) AS timed,
  sum(CASE WHEN finished_at IS NOT NULL AND first_claimed_at IS NOT NULL
    THEN (julianday(finished_at) - julianday(first_claimed_at)) * 86400.0 ELSE 0 END) AS seconds
FROM command GROUP BY link, type, status ORDER BY link, type, status;

-- name: measured_links()
SELECT link,
  (SELECT last_seen_at FROM agent_status WHERE agent_status.link = one.link) AS agent_seen_at,
  (SELECT batch.created_at FROM command JOIN batch ON batch.id = command.batch_id
   WHERE command.link = one.link AND command.status = 'queued' AND command.held = 0
   ORDER BY command.batch_id, command.seq LIMIT 1) AS queued_at,
  (SELECT min(refreshed_at) FROM issue
   WHERE issue.link = one.link AND missing_at IS NULL AND moved_to IS NULL) AS mirror_at
FROM (SELECT link FROM batch UNION SELECT link FROM agent_status) AS one ORDER BY link;
