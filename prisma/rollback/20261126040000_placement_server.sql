-- Takes the migrations of placement_server back, for the version before them: psql "$DATABASE_URL" -f this file, with the
-- control plane stopped. Keeps every app, environment and server; the order of the servers becomes the age of their rows.
BEGIN;
ALTER TABLE app_config DROP CONSTRAINT app_config_app_id_environment_id_organization_id_fkey;
ALTER TABLE domain DROP CONSTRAINT domain_app_id_environment_id_organization_id_fkey;
ALTER TABLE secret DROP CONSTRAINT secret_app_id_environment_id_organization_id_fkey;
DROP INDEX placement_primary;
DROP INDEX placement_app_id_environment_id_organization_id_key;
ALTER TABLE placement ADD COLUMN server_id TEXT, ADD COLUMN live_release_id TEXT, ADD COLUMN secrets_problem TEXT;

SET ROLE fairlead_system;
-- One row for each server. The primary environment is the oldest, and the primary server the oldest in its environment.
CREATE TEMPORARY TABLE former ON COMMIT DROP AS
SELECT placement.id AS placement_id, placement_server.server_id, placement_server.live_release_id,
  placement_server.secrets_problem,
  row_number() OVER (PARTITION BY placement.id ORDER BY placement_server.position) AS place,
  CASE WHEN placement.is_primary THEN least(app.created_at, placement.created_at)
       ELSE greatest(app.created_at, placement.created_at) + interval '1 second' END
    + row_number() OVER (PARTITION BY placement.id ORDER BY placement_server.position) * interval '1 millisecond' AS age
FROM placement
JOIN placement_server ON placement_server.placement_id = placement.id
JOIN app ON app.id = placement.app_id;

UPDATE placement SET server_id = former.server_id, live_release_id = former.live_release_id,
  secrets_problem = former.secrets_problem, created_at = former.age
FROM former WHERE former.placement_id = placement.id AND former.place = 1;
INSERT INTO placement (id, organization_id, app_id, environment_id, server_id, branch, instances, live_release_id,
  secrets_problem, deploys_paused_at, created_at)
SELECT 'plc_' || left(md5(gen_random_uuid()::text), 20), organization_id, app_id, environment_id, former.server_id, branch,
  instances, former.live_release_id, former.secrets_problem, deploys_paused_at, former.age
FROM former JOIN placement ON placement.id = former.placement_id WHERE former.place > 1;
DELETE FROM placement WHERE server_id IS NULL;
RESET ROLE;

DROP TABLE placement_server;
DROP INDEX placement_organization_id_id_key;
ALTER TABLE placement DROP COLUMN is_primary, ALTER COLUMN server_id SET NOT NULL;
CREATE UNIQUE INDEX placement_app_id_environment_id_server_id_key ON placement (app_id, environment_id, server_id);
CREATE INDEX placement_organization_id_app_id_idx ON placement (organization_id, app_id);
CREATE INDEX placement_server_id_idx ON placement (server_id);
CREATE INDEX placement_live_release_id_idx ON placement (live_release_id);
ALTER TABLE placement ADD CONSTRAINT placement_organization_id_server_id_fkey FOREIGN KEY (organization_id, server_id)
  REFERENCES server (organization_id, id) ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE placement ADD CONSTRAINT placement_organization_id_live_release_id_fkey FOREIGN KEY
  (organization_id, live_release_id) REFERENCES release (organization_id, id) ON DELETE NO ACTION ON UPDATE CASCADE;
UPDATE _prisma_migrations SET rolled_back_at = now()
WHERE migration_name IN ('20261126040000_placement_server', '20261126040100_placement_server_rows',
  '20261126040200_placement_columns');
COMMIT;
