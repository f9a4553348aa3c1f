-- Traffic settings have one name from the dashboard to the proxy (packages/core/src/traffic/schema.ts). Versions of settings are
-- stored with all defaults in them, so each one gets the new names.
SET ROLE fairlead_system;
CREATE FUNCTION pg_temp.with_names(value jsonb, names jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(coalesce(names ->> each.key, each.key), each.value), '{}') FROM jsonb_each(value) AS each
$$;
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{traffic,balance}', '"least_loaded"')
  WHERE "settings" #>> '{traffic,balance}' = 'least_in_flight';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{traffic,sticky,kind}', '"client_address"')
  WHERE "settings" #>> '{traffic,sticky,kind}' = 'client';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{traffic,ejection}', pg_temp.with_names("settings" #> '{traffic,ejection}',
    '{"failures": "consecutiveFailures", "periodMs": "ejectionTimeMs", "percentMax": "ejectedPercentMax"}'))
  WHERE jsonb_typeof("settings" #> '{traffic,ejection}') = 'object';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{traffic,probe}', pg_temp.with_names("settings" #> '{traffic,probe}',
    '{"healthyAfter": "healthyThreshold", "unhealthyAfter": "unhealthyThreshold"}'))
  WHERE jsonb_typeof("settings" #> '{traffic,probe}') = 'object';
UPDATE "app_config"
  SET "settings" = jsonb_set("settings", '{traffic}', pg_temp.with_names("settings" -> 'traffic', '{
    "protocol": "upstreamProtocol", "balance": "loadBalancing", "sticky": "stickySessions", "inFlightMax": "inFlightPerApp",
    "queueMax": "queueLengthMax", "shedLoad": "loadShedding", "retryPercentMax": "retryBudgetPercent",
    "ejection": "outlierEjection", "probe": "healthCheck"}'))
  WHERE jsonb_typeof("settings" -> 'traffic') = 'object';
DROP FUNCTION pg_temp.with_names(jsonb, jsonb);
RESET ROLE;
