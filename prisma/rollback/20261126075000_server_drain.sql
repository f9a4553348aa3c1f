-- Takes the migration of server_drain back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. A drained server takes deployments again.
BEGIN;
ALTER TABLE server DROP COLUMN drained_at, DROP COLUMN drained_by_user_id;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126075000_server_drain';
COMMIT;
