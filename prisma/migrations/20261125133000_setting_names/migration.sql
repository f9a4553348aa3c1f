-- Settings have one name from the dashboard to the agent (packages/core/src/config/schema.ts). Versions of settings are stored with
-- all defaults in them, so each one gets the new names.
SET ROLE fairlead_system;
CREATE FUNCTION pg_temp.with_names(value jsonb, names jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(coalesce(names ->> each.key, each.key), each.value), '{}') FROM jsonb_each(value) AS each
$$;
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{rollout,kind}', '"blue_green"')
  WHERE "settings" #>> '{rollout,kind}' = 'all';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{rollout}', pg_temp.with_names("settings" -> 'rollout', '{"size": "batchSize"}')
    || '{"kind": "rolling"}')
  WHERE "settings" #>> '{rollout,kind}' = 'batch';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{rollout}', pg_temp.with_names("settings" -> 'rollout', '{
    "percents": "stepPercents", "holdMs": "stepDurationMs", "errorsPermilleMax": "errorIncreasePermilleMax",
    "p99PermilleMax": "p99RatioPermilleMax"}'))
  WHERE "settings" #>> '{rollout,kind}' = 'canary';
UPDATE "app_config"
  SET "settings" = pg_temp.with_names("settings", '{
    "health": "readinessCheck", "healthTimeoutMs": "startTimeoutMs", "liveness": "livenessCheck", "scale": "autoscaling",
    "afterCommand": "postReleaseCommand", "stopGraceMs": "stopTimeoutMs", "keepReleases": "releasesKept"}')
  WHERE jsonb_typeof("settings") = 'object';
DROP FUNCTION pg_temp.with_names(jsonb, jsonb);
RESET ROLE;
