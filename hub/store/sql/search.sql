-- Looking through the mirror. Every filter that is NULL is no filter; `state` is imported, missing, moved, archived or
-- present.

-- name: issues(link, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT * FROM issue
WHERE link = :link AND key > :after
  AND (:status IS NULL OR status = :status) AND (:type IS NULL OR issue_type = :type)
  AND (:priority IS NULL OR priority = :priority) AND (:assignee IS NULL OR assignee = :assignee)
  AND (:epic IS NULL OR epic_key = :epic) AND (:sprint IS NULL OR sprint = :sprint)
  AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(issue.labels) AS one WHERE one.value = :label))
  AND (:state IS NULL OR :state = CASE WHEN missing_at IS NOT NULL THEN 'missing' WHEN moved_to IS NOT NULL THEN 'moved'
    WHEN refreshed_at IS NULL THEN 'imported' WHEN archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
ORDER BY key LIMIT :limit;

-- Found in the order the mirror learned of them: the index yields them so, and stops as soon as the page is full.
-- The words come in three forms, of which each database looks with its own: `match` is PostgreSQL's.
-- name: issues_with_text(link, match, grams, wholes, globs, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT issue.* FROM issue_text JOIN issue ON issue.id = issue_text.rowid
WHERE issue_text MATCH :grams AND :match IS NOT NULL AND issue_text.rowid > :after AND issue.link = :link
  AND (:status IS NULL OR issue.status = :status) AND (:type IS NULL OR issue.issue_type = :type)
  AND (:priority IS NULL OR issue.priority = :priority) AND (:assignee IS NULL OR issue.assignee = :assignee)
  AND (:epic IS NULL OR issue.epic_key = :epic) AND (:sprint IS NULL OR issue.sprint = :sprint)
  AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(issue.labels) AS one WHERE one.value = :label))
  AND (:state IS NULL OR :state = CASE WHEN issue.missing_at IS NOT NULL THEN 'missing'
    WHEN issue.moved_to IS NOT NULL THEN 'moved' WHEN issue.refreshed_at IS NULL THEN 'imported'
    WHEN issue.archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
  AND NOT EXISTS (SELECT 1 FROM json_each(:wholes) AS whole
    WHERE NOT (issue.key || ' ' || coalesce(issue.summary, '') || ' ' || coalesce(issue.description, ''))
      GLOB whole.value)
  AND NOT EXISTS (SELECT 1 FROM json_each(:globs) AS short
    WHERE NOT (issue.key || ' ' || coalesce(issue.summary, '')) GLOB short.value)
ORDER BY issue_text.rowid LIMIT :limit;

-- Words of one or two letters alone: no index holds them, but they are in so much that a page is full soon.
-- The walk is over the index of the names, in the order of the ids; a row itself is read only where a name fits.
-- name: issues_with_letters(link, glob, globs, status, type, priority, assignee, epic, sprint, label, state, after, limit)
SELECT * FROM issue
WHERE link = :link AND id > :after AND (summary GLOB :glob OR key GLOB :glob)
  AND (:status IS NULL OR status = :status) AND (:type IS NULL OR issue_type = :type)
  AND (:priority IS NULL OR priority = :priority) AND (:assignee IS NULL OR assignee = :assignee)
  AND (:epic IS NULL OR epic_key = :epic) AND (:sprint IS NULL OR sprint = :sprint)
  AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(issue.labels) AS one WHERE one.value = :label))
  AND (:state IS NULL OR :state = CASE WHEN missing_at IS NOT NULL THEN 'missing' WHEN moved_to IS NOT NULL THEN 'moved'
    WHEN refreshed_at IS NULL THEN 'imported' WHEN archived_at IS NOT NULL THEN 'archived' ELSE 'present' END)
  AND (:globs = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(:globs) AS short
    WHERE NOT (issue.key || ' ' || coalesce(issue.summary, '')) GLOB short.value))
ORDER BY id LIMIT :limit;
