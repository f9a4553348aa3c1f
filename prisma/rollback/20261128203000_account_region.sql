-- Takes the migration of account_region back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. Accounts lose their locale and time zone.
BEGIN;
ALTER TABLE "user" DROP COLUMN locale, DROP COLUMN time_zone;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261128203000_account_region';
COMMIT;
