-- Expand: a deleted app keeps all of its rows until it is purged. Its row here hides them from its organization.
CREATE TABLE "app_deletion" (
    "app_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "placement_ids" TEXT[],
    "deleted_at" TIMESTAMPTZ(3) NOT NULL,
    "purge_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_by_user_id" TEXT,

    CONSTRAINT "app_deletion_pkey" PRIMARY KEY ("app_id")
);

CREATE UNIQUE INDEX "app_deletion_organization_id_app_id_key" ON "app_deletion"("organization_id", "app_id");
CREATE INDEX "app_deletion_purge_at_idx" ON "app_deletion"("purge_at");

ALTER TABLE "app_deletion" ADD CONSTRAINT "app_deletion_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('app_deletion');

-- Hides the rows of deleted apps from an organization, and refuses new ones, unless the transaction asks for them by
-- fairlead.deleted_apps = visible. System scope sees them. `names` is the column with the app or the placement, and `gone`
-- selects the same of deleted apps; the database runs it once for each query.
CREATE FUNCTION guard.hide_deleted_apps(target regclass, names name, gone text DEFAULT 'app_id') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE POLICY deleted_apps ON %s AS RESTRICTIVE TO fairlead_tenant '
    'USING (%I IS NULL OR %I <> ALL (ARRAY(SELECT %s FROM app_deletion '
    'WHERE current_setting(''fairlead.deleted_apps'', true) IS DISTINCT FROM ''visible'')))', target, names, names, gone);
END
$$;
REVOKE ALL ON FUNCTION guard.hide_deleted_apps(regclass, name, text) FROM PUBLIC;

SELECT guard.hide_deleted_apps('app', 'id');
SELECT guard.hide_deleted_apps('placement_server', 'placement_id', 'unnest(placement_ids)');
SELECT guard.hide_deleted_apps(name::regclass, 'app_id')
FROM unnest(ARRAY[
  'placement', 'instance', 'release', 'deployment', 'domain', 'benchmark_run', 'app_config', 'secret', 'secret_snapshot',
  'secret_group_app', 'source_credential', 'volume'
]) AS name;
