-- Overview of the job queue for the control plane page. The queue's tables are granted to nobody; these functions return no
-- payload, because it names rows of organizations. Only the system scope may call them. In plpgsql, because the queue's own
-- schema is created after the first migrations.

CREATE FUNCTION guard.count_jobs() RETURNS TABLE (
  name text,
  waiting int,
  running int,
  failed int,
  oldest_waiting timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT job.task_identifier,
         count(*) FILTER (WHERE job.locked_at IS NULL AND job.attempts < job.max_attempts)::int,
         count(*) FILTER (WHERE job.locked_at IS NOT NULL)::int,
         count(*) FILTER (WHERE job.locked_at IS NULL AND job.attempts >= job.max_attempts)::int,
         min(job.run_at) FILTER (WHERE job.locked_at IS NULL AND job.attempts < job.max_attempts AND job.run_at <= now())
  FROM graphile_worker.jobs AS job
  GROUP BY job.task_identifier
  ORDER BY job.task_identifier;
END
$$;

CREATE FUNCTION guard.failed_jobs(max_rows int) RETURNS TABLE (
  id bigint,
  name text,
  attempts int,
  error text,
  failed_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT job.id, job.task_identifier, job.attempts::int, job.last_error, job.updated_at
  FROM graphile_worker.jobs AS job
  WHERE job.locked_at IS NULL AND job.attempts >= job.max_attempts
  ORDER BY job.updated_at DESC, job.id DESC
  LIMIT max_rows;
END
$$;

-- Name of the job that runs again; NULL if it has not failed for good.
CREATE FUNCTION guard.retry_job(job_id bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  job_name text;
BEGIN
  SELECT job.task_identifier INTO job_name FROM graphile_worker.jobs AS job
  WHERE job.id = job_id AND job.locked_at IS NULL AND job.attempts >= job.max_attempts;
  IF job_name IS NOT NULL THEN
    PERFORM graphile_worker.reschedule_jobs(job_ids => ARRAY[job_id], run_at => now(), attempts => 0);
  END IF;
  RETURN job_name;
END
$$;

REVOKE ALL ON FUNCTION guard.count_jobs(), guard.failed_jobs(int), guard.retry_job(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION guard.count_jobs(), guard.failed_jobs(int), guard.retry_job(bigint) TO fairlead_system;
