-- Schema 1, as live bases have it. It never changes any more; a new base passes through it to the newest.
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE batch (
  id INTEGER PRIMARY KEY, author TEXT NOT NULL, title TEXT NOT NULL, created_at TEXT NOT NULL,
  cancelled_at TEXT, backup_path TEXT);
CREATE TABLE command (
  id INTEGER PRIMARY KEY, batch_id INTEGER NOT NULL REFERENCES batch(id), seq INTEGER NOT NULL,
  type TEXT NOT NULL, params TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'queued',
  result TEXT, error TEXT, jira_calls INTEGER, rate_limited INTEGER,
  claimed_at TEXT, finished_at TEXT, UNIQUE (batch_id, seq));
CREATE INDEX command_status ON command(status);
CREATE TABLE agent_status (
  id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER, last_seen_at TEXT, current_command_id INTEGER);
CREATE TABLE issue (
  key TEXT PRIMARY KEY, summary TEXT, description TEXT, issue_type TEXT, status TEXT, priority TEXT, assignee TEXT,
  duedate TEXT, planned_start TEXT, planned_end TEXT, labels TEXT, epic_key TEXT, sprint TEXT, updated TEXT, refreshed_at TEXT);
CREATE TABLE issue_link (source TEXT NOT NULL, target TEXT NOT NULL, link_type TEXT NOT NULL, jira_id TEXT,
  PRIMARY KEY (source, target, link_type));
CREATE TABLE note (key TEXT PRIMARY KEY, text TEXT NOT NULL, updated_at TEXT NOT NULL);
INSERT INTO setting VALUES ('schema_version', '1'),
  ('pacing', '{"ensure_issue":120,"ensure_fields":120,"ensure_comment":30,"ensure_status":30,"ensure_link":30,"ensure_sprint":30,"refresh":2}'),
  ('auto_refresh_minutes', '0'), ('min_agent_version', '2');
