-- What came for an app by each of its routes: as metric.app_1s, partitioned, aged and protected like it.

-- A route is a host and a path prefix. Both empty: all routes of the app that had no sample of their own in that second.
CREATE TABLE metric.route_1s (
  organization_id text NOT NULL,
  app_id text NOT NULL,
  environment_id text NOT NULL,
  server_id text NOT NULL,
  host text NOT NULL,
  path_prefix text NOT NULL,
  at timestamptz(3) NOT NULL,
  seconds integer NOT NULL DEFAULT 1,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  client_errors bigint NOT NULL,
  latency bytea NOT NULL,
  PRIMARY KEY (app_id, environment_id, server_id, at, host, path_prefix)
) PARTITION BY RANGE (at);

CREATE TABLE metric.route_1m (LIKE metric.route_1s INCLUDING ALL) PARTITION BY RANGE (at);
CREATE TABLE metric.route_1h (LIKE metric.route_1s INCLUDING ALL) PARTITION BY RANGE (at);

CREATE OR REPLACE FUNCTION metric.kept_tables()
RETURNS TABLE (table_name text, partition_unit text, kept interval)
LANGUAGE sql IMMUTABLE AS $$
  VALUES
    ('app_1s', 'day', interval '1 day'), ('server_1s', 'day', interval '1 day'), ('route_1s', 'day', interval '1 day'),
    ('app_1m', 'day', interval '14 days'), ('server_1m', 'day', interval '14 days'),
    ('route_1m', 'day', interval '14 days'),
    ('app_1h', 'month', interval '400 days'), ('server_1h', 'month', interval '400 days'),
    ('route_1h', 'month', interval '400 days')
$$;

SELECT guard.protect_tenant_table(format('metric.%I', table_name)::regclass)
FROM metric.kept_tables() WHERE table_name LIKE 'route%';
REVOKE INSERT, UPDATE, DELETE ON metric.route_1s, metric.route_1m, metric.route_1h FROM fairlead_tenant;

SELECT metric.ensure_partitions(now() - interval '1 day', now() + interval '7 days');
