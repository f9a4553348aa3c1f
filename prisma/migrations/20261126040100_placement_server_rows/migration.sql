-- Backfill: the oldest row of an app in an environment was its first server, and the oldest row of an app told where it
-- was created. Both facts become columns.
SET ROLE fairlead_system;

INSERT INTO placement_server
  (placement_id, organization_id, server_id, position, live_release_id, secrets_problem, created_at)
SELECT first_value(id) OVER place, organization_id, server_id, row_number() OVER place - 1,
  live_release_id, secrets_problem, created_at
FROM placement
WINDOW place AS (PARTITION BY app_id, environment_id ORDER BY created_at, id);

DELETE FROM placement WHERE NOT EXISTS (SELECT 1 FROM placement_server WHERE placement_server.placement_id = placement.id);

UPDATE placement SET is_primary = true
WHERE id IN (SELECT DISTINCT ON (app_id) id FROM placement ORDER BY app_id, created_at, id);

-- An app that was removed from an environment kept its settings and secrets there: they hang on a placement without
-- servers now. Letters and digits only, as of every id.
INSERT INTO placement (id, organization_id, app_id, environment_id, branch)
SELECT 'plc_' || left(md5(gen_random_uuid()::text), 20), kept.organization_id, kept.app_id, kept.environment_id,
  (SELECT branch FROM placement WHERE placement.app_id = kept.app_id AND placement.is_primary)
FROM (
  SELECT organization_id, app_id, environment_id FROM app_config
  UNION SELECT organization_id, app_id, environment_id FROM secret WHERE app_id IS NOT NULL
  UNION SELECT organization_id, app_id, environment_id FROM domain
) AS kept
WHERE NOT EXISTS (SELECT 1 FROM placement
                  WHERE placement.app_id = kept.app_id AND placement.environment_id = kept.environment_id);

RESET ROLE;
