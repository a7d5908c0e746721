-- The agent's status and sessions, and the settings of a link.

-- name: agent(link)^
SELECT link, version, last_seen_at, current_command_id, session, host, blocked, claim FROM agent_status WHERE link = :link;

-- name: agent_seen(link, version, at, session, host, blocked, current_command_id, claim)!
INSERT INTO agent_status (link, version, last_seen_at, session, host, blocked, current_command_id, claim)
VALUES (:link, :version, :at, :session, :host, :blocked, :current_command_id, :claim)
ON CONFLICT (link) DO UPDATE SET version = excluded.version, last_seen_at = excluded.last_seen_at,
  session = excluded.session, host = excluded.host, blocked = excluded.blocked,
  current_command_id = excluded.current_command_id, claim = excluded.claim;

-- name: agent_released(link)!
UPDATE agent_status SET session = NULL, host = NULL WHERE link = :link;

-- name: retire_session(link, session, host, at)!
INSERT INTO agent_retired (link, session, host, at) VALUES (:link, :session, :host, :at)
ON CONFLICT (link, session) DO NOTHING;

-- name: session_retired(link, session)^
SELECT at FROM agent_retired WHERE link = :link AND session = :session;

-- name: forget_retired(link)!
DELETE FROM agent_retired WHERE link = :link;

-- name: settings(link)
SELECT key, value FROM setting WHERE link = :link;

-- name: set_setting(link, key, value)!
INSERT INTO setting (link, key, value) VALUES (:link, :key, :value)
ON CONFLICT (link, key) DO UPDATE SET value = excluded.value;

-- name: delete_setting(link, key)!
DELETE FROM setting WHERE link = :link AND key = :key;

-- name: served_links()
SELECT link FROM setting WHERE key = 'served_since' ORDER BY link;
