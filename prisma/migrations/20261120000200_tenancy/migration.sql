-- Who may see which row. Two roles without login stand between the application and the tables:
--   fairlead_tenant  one organization, named by the setting fairlead.organization_id
--   fairlead_system  every organization; the caller names its reason in fairlead.system_reason
-- The login role owns the tables, yet policies are forced, so it sees tenant rows only after SET ROLE.

DO $$
DECLARE
  role_name text;
BEGIN
  IF current_setting('server_version_num')::int < 160000 THEN
    RAISE EXCEPTION 'Fairlead needs PostgreSQL 16 or newer, this server is %', current_setting('server_version');
  END IF;
  FOREACH role_name IN ARRAY ARRAY['fairlead_tenant', 'fairlead_system'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT', role_name);
    EXCEPTION
      -- Roles belong to the whole server: another database of it may have made them, even at this moment.
      WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    IF NOT pg_has_role(current_user, role_name, 'SET') OR pg_has_role(current_user, role_name, 'USAGE') THEN
      -- INHERIT FALSE: an inherited role would apply its policies without SET ROLE, and system's sees everything.
      EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE, SET TRUE', role_name);
    END IF;
  END LOOP;
END
$$;

-- Not called `fairlead`: PostgreSQL looks first in the schema that bears the name of the login role.
CREATE SCHEMA guard;
GRANT USAGE ON SCHEMA guard, public TO fairlead_tenant, fairlead_system;

-- Rows of one organization: each role may do everything within its own policy. Later migrations call this for new tables.
CREATE FUNCTION guard.protect_tenant_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
  EXECUTE format(
    'CREATE POLICY tenant ON %s TO fairlead_tenant '
    'USING (organization_id = current_setting(''fairlead.organization_id'', true)) '
    'WITH CHECK (organization_id = current_setting(''fairlead.organization_id'', true))', target);
  EXECUTE format('CREATE POLICY system ON %s TO fairlead_system USING (true) WITH CHECK (true)', target);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO fairlead_tenant, fairlead_system', target);
END
$$;

-- Rows that no organization may see.
CREATE FUNCTION guard.protect_system_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
  EXECUTE format('CREATE POLICY system ON %s TO fairlead_system USING (true) WITH CHECK (true)', target);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO fairlead_system', target);
END
$$;

REVOKE ALL ON FUNCTION guard.protect_tenant_table(regclass), guard.protect_system_table(regclass) FROM PUBLIC;

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY[
  'member', 'project', 'environment', 'app', 'placement', 'instance', 'release', 'deployment', 'deployment_step',
  'log_chunk', 'domain', 'server', 'server_enrolment', 'benchmark_run', 'benchmark_row'
]) AS name;

SELECT guard.protect_system_table(name::regclass) FROM unnest(ARRAY['setup_token', 'signing_key']) AS name;

-- An organization reads and renames itself; only system makes one or ends one.
ALTER TABLE organization ENABLE ROW LEVEL SECURITY;
ALTER TABLE organization FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON organization TO fairlead_tenant
  USING (id = current_setting('fairlead.organization_id', true))
  WITH CHECK (id = current_setting('fairlead.organization_id', true));
CREATE POLICY system ON organization TO fairlead_system USING (true) WITH CHECK (true);
GRANT SELECT, UPDATE ON organization TO fairlead_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON organization TO fairlead_system;

-- Identity belongs to the login role (better-auth). An organization sees the names of its own members and nothing else:
-- row security is enabled but not forced, so the owner passes and the tenant role meets the policy.
ALTER TABLE "user" ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON "user" FOR SELECT TO fairlead_tenant USING (id IN (SELECT member.user_id FROM member));
CREATE POLICY system ON "user" TO fairlead_system USING (true) WITH CHECK (true);
GRANT SELECT (id, name, email, image) ON "user" TO fairlead_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON "user" TO fairlead_system;
GRANT SELECT, DELETE ON session TO fairlead_system;

-- The words of state that the code knows; a typo becomes an error instead of a row nobody finds.
ALTER TABLE deployment
  ADD CONSTRAINT deployment_state_known
    CHECK (state IN ('queued', 'building', 'rolling_out', 'live', 'failed', 'cancelled', 'superseded')),
  ADD CONSTRAINT deployment_trigger_known CHECK (trigger IN ('manual', 'redeploy', 'rollback', 'push'));
ALTER TABLE deployment_step
  ADD CONSTRAINT deployment_step_state_known CHECK (state IN ('pending', 'running', 'done', 'failed', 'skipped'));
ALTER TABLE benchmark_run
  ADD CONSTRAINT benchmark_run_state_known CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled'));
ALTER TABLE domain ADD CONSTRAINT domain_host_lower CHECK (host = lower(host));

-- At most one deployment of an app in an environment is under way; queued ones wait for it.
CREATE UNIQUE INDEX deployment_under_way ON deployment (app_id, environment_id) WHERE state IN ('building', 'rolling_out');
-- The sweep looks at unfinished deployments only, however long the history is.
CREATE INDEX deployment_unfinished ON deployment (state, deadline_at) WHERE state IN ('queued', 'building', 'rolling_out');
