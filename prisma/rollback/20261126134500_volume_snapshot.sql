-- Takes the migration of volume_snapshot back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. Cancel moves of apps with volumes first. Snapshots are forgotten.
BEGIN;
SET LOCAL ROLE fairlead_system;
DELETE FROM artifact WHERE kind = 'volume';
RESET ROLE;
ALTER TABLE artifact DROP CONSTRAINT artifact_kind_known;
ALTER TABLE artifact ADD CONSTRAINT artifact_kind_known CHECK (kind IN ('build', 'upload', 'agent'));
DROP TABLE volume_restore;
DROP TABLE volume_snapshot;
DROP TABLE volume_move;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126134500_volume_snapshot';
COMMIT;
