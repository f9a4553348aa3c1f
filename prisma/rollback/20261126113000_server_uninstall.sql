-- Takes the migration of server_uninstall back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. An agent that was asked to remove itself and has not yet got the request stays.
BEGIN;
ALTER TABLE server DROP COLUMN uninstall;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126113000_server_uninstall';
COMMIT;
