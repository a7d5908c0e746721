-- Schema 2: deliveries, links (hub-agent pairs), events, stored answers, late results, and the lifecycle in the database.
-- Every column of schema 1 stays, and what is new has a default: the previous release still runs on this base.
-- Where the link belongs into the primary key the table is rebuilt, for SQLite cannot change a key in place.

ALTER TABLE setting RENAME TO setting_v1;
CREATE TABLE setting (
  link TEXT NOT NULL DEFAULT 'main', key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (link, key));
INSERT INTO setting (key, value) SELECT key, value FROM setting_v1;
DROP TABLE setting_v1;

ALTER TABLE batch ADD COLUMN link TEXT NOT NULL DEFAULT 'main';
ALTER TABLE batch ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));

ALTER TABLE command ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0
  CHECK (deliveries >= 0 AND status IN
    ('queued', 'claimed', 'done', 'failed', 'cancelled', 'skipped', 'confirmed_by_state'));
ALTER TABLE command ADD COLUMN link TEXT NOT NULL DEFAULT 'main';
ALTER TABLE command ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));
-- Temporary keys the command waits for, divided by blanks, and the one it defines: a claim need not read the parameters.
ALTER TABLE command ADD COLUMN needs TEXT;
ALTER TABLE command ADD COLUMN defines TEXT;
ALTER TABLE command ADD COLUMN first_claimed_at TEXT;
ALTER TABLE command ADD COLUMN retry_of INTEGER REFERENCES command(id);
ALTER TABLE command ADD COLUMN root_id INTEGER REFERENCES command(id);
UPDATE command SET deliveries = 1, first_claimed_at = claimed_at WHERE status = 'claimed';
UPDATE command SET defines = json_extract(params, '$.temp_key') WHERE type = 'ensure_issue';
UPDATE command SET needs = (
  SELECT group_concat(found.value, ' ') FROM (
    SELECT DISTINCT tree.value AS value FROM json_tree(command.params) AS tree
    WHERE tree.type = 'text' AND tree.value GLOB 'new:[0-9]*'
      AND ((tree.path = '$' AND tree.key IN ('key', 'source', 'target', 'epic_key')) OR tree.path = '$.keys')
  ) AS found)
WHERE status IN ('queued', 'failed', 'cancelled', 'skipped');

DROP INDEX command_status;
-- For lists and counts by status; a command enters it once, when it ends.
CREATE INDEX command_ended ON command (link, status, id) WHERE status NOT IN ('queued', 'claimed');
-- Claim and report look only at these: the finished commands, however many, are in none of them. The order of the queue,
-- (max(batch.created_at, newest so far), batch.id, seq), is that of (batch_id, seq): ids grow as batches come.
CREATE INDEX command_queued ON command (link, held, batch_id, seq) WHERE status = 'queued';
CREATE INDEX command_claimed ON command (link, claimed_at, id) WHERE status = 'claimed';
CREATE INDEX command_defines ON command (batch_id, defines) WHERE defines IS NOT NULL;
CREATE INDEX command_root ON command (root_id) WHERE root_id IS NOT NULL;

CREATE TRIGGER command_moves BEFORE UPDATE OF status ON command
WHEN NEW.status <> OLD.status AND CASE OLD.status
  WHEN 'claimed' THEN NEW.status NOT IN ('done', 'failed', 'cancelled', 'confirmed_by_state')
  WHEN 'queued' THEN NEW.status NOT IN ('claimed', 'cancelled', 'skipped', 'failed')
  ELSE 1 END
BEGIN
  SELECT RAISE(ABORT, 'the lifecycle of a command has no such move');
END;

-- A terminal command never changes (P5); a cancelled creation may still learn which issue it made.
CREATE TRIGGER command_rests BEFORE UPDATE OF error, finished_at, result, params, deliveries, claimed_at ON command
WHEN OLD.status NOT IN ('queued', 'claimed') AND (
  NEW.error IS NOT OLD.error OR NEW.finished_at IS NOT OLD.finished_at OR NEW.params IS NOT OLD.params
  OR NEW.deliveries <> OLD.deliveries OR NEW.claimed_at IS NOT OLD.claimed_at
  OR (NEW.result IS NOT OLD.result
      AND NOT (OLD.status = 'cancelled' AND OLD.type = 'ensure_issue' AND OLD.result IS NULL)))
BEGIN
  SELECT RAISE(ABORT, 'a terminal command never changes');
END;

ALTER TABLE agent_status RENAME TO agent_status_v1;
CREATE TABLE agent_status (
  link TEXT PRIMARY KEY DEFAULT 'main', id INTEGER NOT NULL DEFAULT 1, version INTEGER, last_seen_at TEXT,
  current_command_id INTEGER, session TEXT, host TEXT, blocked TEXT, claim TEXT);
INSERT INTO agent_status (id, version, last_seen_at, current_command_id)
  SELECT id, version, last_seen_at, current_command_id FROM agent_status_v1;
DROP TABLE agent_status_v1;
CREATE TABLE agent_retired (
  link TEXT NOT NULL, session TEXT NOT NULL, host TEXT, at TEXT NOT NULL, PRIMARY KEY (link, session));

ALTER TABLE issue RENAME TO issue_v1;
-- The id binds an issue to its words in the search index; a rowid without a column of its own may change in a VACUUM.
CREATE TABLE issue (
  id INTEGER PRIMARY KEY, link TEXT NOT NULL DEFAULT 'main', key TEXT NOT NULL, summary TEXT, description TEXT, issue_type TEXT, status TEXT,
  priority TEXT, assignee TEXT, duedate TEXT, planned_start TEXT, planned_end TEXT, labels TEXT, epic_key TEXT,
  sprint TEXT, updated TEXT, refreshed_at TEXT, jira_id TEXT, status_id TEXT, sprint_id INTEGER, created TEXT,
  reading_began_at TEXT, missing_at TEXT, moved_to TEXT, archived_at TEXT,
  UNIQUE (link, key));
INSERT INTO issue (key, summary, description, issue_type, status, priority, assignee, duedate, planned_start,
    planned_end, labels, epic_key, sprint, updated, refreshed_at)
  SELECT key, summary, description, issue_type, status, priority, assignee, duedate, planned_start,
    planned_end, labels, epic_key, sprint, updated, refreshed_at FROM issue_v1;
DROP TABLE issue_v1;

ALTER TABLE issue_link RENAME TO issue_link_v1;
CREATE TABLE issue_link (
  link TEXT NOT NULL DEFAULT 'main', source TEXT NOT NULL, target TEXT NOT NULL, link_type TEXT NOT NULL, jira_id TEXT,
  managed INTEGER NOT NULL DEFAULT 1, symmetric INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (link, source, target, link_type));
INSERT INTO issue_link (source, target, link_type, jira_id)
  SELECT source, target, link_type, jira_id FROM issue_link_v1;
DROP TABLE issue_link_v1;
CREATE INDEX issue_link_target ON issue_link (link, target);

ALTER TABLE note RENAME TO note_v1;
CREATE TABLE note (
  link TEXT NOT NULL DEFAULT 'main', key TEXT NOT NULL, text TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (link, key));
INSERT INTO note (key, text, updated_at) SELECT key, text, updated_at FROM note_v1;
DROP TABLE note_v1;

CREATE TABLE event (
  id INTEGER PRIMARY KEY, link TEXT NOT NULL, command_id INTEGER NOT NULL, from_status TEXT, to_status TEXT NOT NULL,
  why TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX event_command ON event (command_id, id);

-- What was answered under an Idempotency-Key: the same key gets the same bytes, and nothing is done twice (P7).
CREATE TABLE answer (
  id INTEGER PRIMARY KEY, link TEXT NOT NULL, request_key TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
  at TEXT NOT NULL,
  UNIQUE (link, request_key));

CREATE TABLE late_result (
  id INTEGER PRIMARY KEY, command_id INTEGER NOT NULL REFERENCES command(id), report TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX late_result_command ON late_result (command_id);

CREATE TABLE reading_part (
  command_id INTEGER NOT NULL REFERENCES command(id), delivery INTEGER NOT NULL, part INTEGER NOT NULL,
  total INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (command_id, delivery, part));

-- What a person was shown before a batch: the wishes, and a name for all that the mirror showed of them then.
CREATE TABLE plan (
  id INTEGER PRIMARY KEY, link TEXT NOT NULL, author TEXT NOT NULL, title TEXT NOT NULL, commands TEXT NOT NULL,
  digest TEXT NOT NULL, created_at TEXT NOT NULL, refresh_batch_id INTEGER REFERENCES batch(id),
  batch_id INTEGER REFERENCES batch(id));
CREATE INDEX plan_created ON plan (created_at);

-- Every three letters in a row of key, summary and description, case folded: finds parts of words and of keys. Where in a
-- text they stand is not kept: the index is a sixth as large so, and filled three times as fast.
CREATE VIRTUAL TABLE issue_text USING fts5(key, summary, description, content='issue', content_rowid='id',
  tokenize='trigram', detail='none');
CREATE TRIGGER issue_text_added AFTER INSERT ON issue BEGIN
  INSERT INTO issue_text (rowid, key, summary, description) VALUES (NEW.id, NEW.key, NEW.summary, NEW.description);
END;
CREATE TRIGGER issue_text_gone AFTER DELETE ON issue BEGIN
  INSERT INTO issue_text (issue_text, rowid, key, summary, description)
    VALUES ('delete', OLD.id, OLD.key, OLD.summary, OLD.description);
END;
-- Most refreshes change no text, and then the index is left alone.
CREATE TRIGGER issue_text_changed AFTER UPDATE OF key, summary, description ON issue
WHEN NEW.key IS NOT OLD.key OR NEW.summary IS NOT OLD.summary OR NEW.description IS NOT OLD.description
BEGIN
  INSERT INTO issue_text (issue_text, rowid, key, summary, description)
    VALUES ('delete', OLD.id, OLD.key, OLD.summary, OLD.description);
  INSERT INTO issue_text (rowid, key, summary, description) VALUES (NEW.id, NEW.key, NEW.summary, NEW.description);
END;
INSERT INTO issue_text (issue_text) VALUES ('rebuild');
-- One or two letters are in no index of words: they are looked for in these, a tenth of the table to read.
CREATE INDEX issue_named ON issue (link, id, key, summary);

UPDATE setting SET value = '2' WHERE link = 'main' AND key = 'schema_version';
