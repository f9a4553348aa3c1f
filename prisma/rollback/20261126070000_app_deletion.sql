-- Takes the migration of app_deletion back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. That version has no recently deleted apps: those that wait for their purge come back, and run again.
BEGIN;
SET ROLE fairlead_system;
UPDATE server SET desired_number = desired_number + 1
WHERE id IN (SELECT placement_server.server_id FROM placement_server
             JOIN placement ON placement.id = placement_server.placement_id
             JOIN app_deletion ON app_deletion.app_id = placement.app_id);
RESET ROLE;

DO $$
DECLARE
  target regclass;
BEGIN
  FOR target IN SELECT polrelid::regclass FROM pg_policy WHERE polname = 'deleted_apps' LOOP
    EXECUTE format('DROP POLICY deleted_apps ON %s', target);
  END LOOP;
END
$$;
DROP FUNCTION guard.hide_deleted_apps(regclass, name, text);
DROP TABLE app_deletion;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126070000_app_deletion';
COMMIT;
