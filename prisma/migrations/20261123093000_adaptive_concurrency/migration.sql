-- Versions of settings are stored with all defaults in them. These three were defaults until now and nobody chose them: without
-- them a version takes the new ones (packages/core/src/traffic/schema.ts). A version in which any of them differs stays as it is.
SET ROLE fairlead_system;
UPDATE "app_config"
  SET "settings" = "settings" #- '{traffic,connectionsPerInstance}' #- '{traffic,queueTimeoutMs}' #- '{traffic,shedLoad}'
  WHERE "settings" -> 'traffic' @> '{"connectionsPerInstance": 64, "queueTimeoutMs": 10000, "shedLoad": true}';
RESET ROLE;
