-- The queue's border. Jobs are rows of graphile-worker, which knows no organizations, so its tables are granted to nobody;
-- this function is the only way for a scope to enqueue, and checks that the job belongs to the scope.

CREATE FUNCTION guard.enqueue_job(
  identifier text,
  payload json,
  job_key text DEFAULT NULL,
  run_at timestamptz DEFAULT NULL,
  max_attempts int DEFAULT NULL,
  queue_name text DEFAULT NULL,
  job_key_mode text DEFAULT 'replace'
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- SECURITY DEFINER changes current_user, not this setting: it names the role that SET ROLE took.
  scope_role text := current_setting('role', true);
  job_organization text := payload ->> 'organizationId';
  key_prefix text;
  job_id bigint;
BEGIN
  IF scope_role = 'fairlead_tenant' THEN
    IF job_organization IS NULL
       OR job_organization IS DISTINCT FROM current_setting('fairlead.organization_id', true) THEN
      RAISE EXCEPTION 'job % carries organization %, its transaction is of another one', identifier, job_organization
        USING ERRCODE = 'insufficient_privilege';
    END IF;
  ELSIF scope_role IS DISTINCT FROM 'fairlead_system' THEN
    RAISE EXCEPTION 'job % was enqueued outside a tenant or system scope', identifier
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- Keys replace waiting jobs, so they are kept apart: one organization cannot replace another's job.
  key_prefix := coalesce(job_organization, 'system') || ':';
  SELECT job.id INTO job_id
  FROM graphile_worker.add_job(
    identifier => enqueue_job.identifier,
    payload => enqueue_job.payload,
    queue_name => key_prefix || enqueue_job.queue_name,
    run_at => enqueue_job.run_at,
    max_attempts => enqueue_job.max_attempts,
    job_key => key_prefix || enqueue_job.job_key,
    job_key_mode => enqueue_job.job_key_mode
  ) AS job;
  RETURN job_id;
END
$$;

REVOKE ALL ON FUNCTION guard.enqueue_job(text, json, text, timestamptz, int, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION guard.enqueue_job(text, json, text, timestamptz, int, text, text)
  TO fairlead_tenant, fairlead_system;
