-- Metrics: partitioned by time, kept by age, written by system scope only and read by the organization they belong to.
-- Prisma does not know this schema. Rows carry no foreign keys: they are many, and they age out by themselves.

CREATE SCHEMA metric;
GRANT USAGE ON SCHEMA metric TO fairlead_tenant, fairlead_system;

-- `at` is the start of the second, minute or hour. Averages weigh by `seconds`, how many seconds were really sampled.
-- `latency` is an encoded fairlead.agent.v1.Histogram, so merging rows keeps percentiles true.
CREATE TABLE metric.app_1s (
  organization_id text NOT NULL,
  app_id text NOT NULL,
  environment_id text NOT NULL,
  server_id text NOT NULL,
  at timestamptz(3) NOT NULL,
  seconds integer NOT NULL DEFAULT 1,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  client_errors bigint NOT NULL,
  latency bytea NOT NULL,
  bytes_received bigint NOT NULL,
  bytes_sent bigint NOT NULL,
  cpu_millis_avg integer NOT NULL,
  memory_bytes_max bigint NOT NULL,
  in_flight_max integer NOT NULL,
  PRIMARY KEY (app_id, environment_id, server_id, at)
) PARTITION BY RANGE (at);

CREATE TABLE metric.server_1s (
  organization_id text NOT NULL,
  server_id text NOT NULL,
  at timestamptz(3) NOT NULL,
  seconds integer NOT NULL DEFAULT 1,
  cpu_millis_avg integer NOT NULL,
  memory_used_bytes_max bigint NOT NULL,
  memory_total_bytes bigint NOT NULL,
  disk_used_bytes_max bigint NOT NULL,
  disk_total_bytes bigint NOT NULL,
  network_received_bytes bigint NOT NULL,
  network_sent_bytes bigint NOT NULL,
  load1_millis_avg integer NOT NULL,
  agent_cpu_millis_avg integer NOT NULL,
  agent_memory_bytes_max bigint NOT NULL,
  open_connections_max integer NOT NULL,
  PRIMARY KEY (server_id, at)
) PARTITION BY RANGE (at);

CREATE TABLE metric.app_1m (LIKE metric.app_1s INCLUDING ALL) PARTITION BY RANGE (at);
CREATE TABLE metric.app_1h (LIKE metric.app_1s INCLUDING ALL) PARTITION BY RANGE (at);
CREATE TABLE metric.server_1m (LIKE metric.server_1s INCLUDING ALL) PARTITION BY RANGE (at);
CREATE TABLE metric.server_1h (LIKE metric.server_1s INCLUDING ALL) PARTITION BY RANGE (at);

-- The overview reads the last minutes of all apps and servers of one organization.
CREATE INDEX app_1m_recent ON metric.app_1m (organization_id, at);
CREATE INDEX server_1m_recent ON metric.server_1m (organization_id, at);

-- Which minutes and hours have new samples below them. Written with the samples, emptied by the roll-up; samples that a
-- server spooled while its link was down arrive late and are rolled up all the same.
CREATE TABLE metric.roll_up_due (
  resolution text NOT NULL CHECK (resolution IN ('1m', '1h')),
  at timestamptz(3) NOT NULL,
  server_id text NOT NULL,
  organization_id text NOT NULL,
  PRIMARY KEY (resolution, at, server_id)
);
SELECT guard.protect_system_table('metric.roll_up_due');

-- How each table is cut and how long it is kept.
CREATE FUNCTION metric.kept_tables()
RETURNS TABLE (table_name text, partition_unit text, kept interval)
LANGUAGE sql IMMUTABLE AS $$
  VALUES
    ('app_1s', 'day', interval '1 day'), ('server_1s', 'day', interval '1 day'),
    ('app_1m', 'day', interval '14 days'), ('server_1m', 'day', interval '14 days'),
    ('app_1h', 'month', interval '400 days'), ('server_1h', 'month', interval '400 days')
$$;

SELECT guard.protect_tenant_table(format('metric.%I', table_name)::regclass) FROM metric.kept_tables();
DO $$
DECLARE
  target text;
BEGIN
  FOR target IN SELECT table_name FROM metric.kept_tables() LOOP
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON metric.%I FROM fairlead_tenant', target);
  END LOOP;
END
$$;

-- Makes the partitions that cover a span of time, as far as rows of that age are kept. Answers how many are new.
-- SECURITY DEFINER: only the owner may attach partitions.
CREATE FUNCTION metric.ensure_partitions(from_at timestamptz, until_at timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '5s' AS $$
DECLARE
  kept_table record;
  step interval;
  lower_at timestamptz;
  partition_name text;
  made integer := 0;
BEGIN
  IF until_at > from_at + interval '2 years' THEN
    RAISE EXCEPTION 'partitions for % to % are too many', from_at, until_at USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- The worker and the gateway may both find a partition missing.
  PERFORM pg_advisory_xact_lock(hashtext('metric.ensure_partitions'));
  FOR kept_table IN SELECT * FROM metric.kept_tables() LOOP
    step := ('1 ' || kept_table.partition_unit)::interval;
    lower_at := date_trunc(kept_table.partition_unit, greatest(from_at, now() - kept_table.kept));
    WHILE lower_at <= until_at LOOP
      partition_name := format('%s_p%s', kept_table.table_name, to_char(lower_at, 'YYYYMMDD'));
      IF to_regclass(format('metric.%I', partition_name)) IS NULL THEN
        -- Made apart and attached: CREATE TABLE … PARTITION OF would lock every reader of the parent out.
        EXECUTE format('CREATE TABLE metric.%I (LIKE metric.%I INCLUDING ALL)', partition_name, kept_table.table_name);
        EXECUTE format('ALTER TABLE metric.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', partition_name);
        EXECUTE format('ALTER TABLE metric.%I ATTACH PARTITION metric.%I FOR VALUES FROM (%L) TO (%L)',
          kept_table.table_name, partition_name, lower_at, lower_at + step);
        made := made + 1;
      END IF;
      lower_at := lower_at + step;
    END LOOP;
  END LOOP;
  RETURN made;
END
$$;

-- Drops the partitions whose newest row is past its age. Answers their names.
CREATE FUNCTION metric.drop_expired_partitions() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '5s' AS $$
DECLARE
  kept_table record;
  partition_name text;
  lower_at timestamptz;
BEGIN
  FOR kept_table IN SELECT * FROM metric.kept_tables() LOOP
    FOR partition_name IN
      SELECT child.relname FROM pg_inherits
      JOIN pg_class child ON child.oid = pg_inherits.inhrelid
      WHERE pg_inherits.inhparent = format('metric.%I', kept_table.table_name)::regclass
      ORDER BY 1
    LOOP
      lower_at := to_date(right(partition_name, 8), 'YYYYMMDD');
      IF lower_at + ('1 ' || kept_table.partition_unit)::interval <= now() - kept_table.kept THEN
        EXECUTE format('DROP TABLE metric.%I', partition_name);
        RETURN NEXT partition_name;
      END IF;
    END LOOP;
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION metric.ensure_partitions(timestamptz, timestamptz), metric.drop_expired_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION metric.ensure_partitions(timestamptz, timestamptz), metric.drop_expired_partitions() TO fairlead_system;

SELECT metric.ensure_partitions(now() - interval '1 day', now() + interval '7 days');
