-- Limits of requests in flight have the name of their labels in stored policies (packages/core/src/traffic/schema.ts).
SET ROLE fairlead_system;
CREATE FUNCTION pg_temp.with_names(value jsonb, names jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(coalesce(names ->> each.key, each.key), each.value), '{}') FROM jsonb_each(value) AS each
$$;
UPDATE "domain"
  SET "policy" = jsonb_set("policy", '{limits}', pg_temp.with_names("policy" -> 'limits',
    '{"clientConcurrent": "clientInFlight", "concurrent": "inFlight"}'))
  WHERE jsonb_typeof("policy" -> 'limits') = 'object';
DROP FUNCTION pg_temp.with_names(jsonb, jsonb);
RESET ROLE;
