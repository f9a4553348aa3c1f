-- A stored password belongs to the host that it was entered for. Those from before belong to the host that their app's source
-- has now; where that is not one host alone, nobody knows, and the next build asks for the password again.
ALTER TABLE "source_credential" ADD COLUMN "host" TEXT NOT NULL DEFAULT '';

SET ROLE fairlead_system;

UPDATE "source_credential" AS credential SET "host" = known.host
FROM (
  SELECT id, CASE
      WHEN port IS NULL AND scheme = 'http' THEN name || ':80'
      WHEN port IS NULL OR port = '443' THEN name
      ELSE name || ':' || port
    END AS host
  FROM (
    SELECT id, parts[1] AS scheme, lower(parts[2]) AS name, parts[3] AS port
    FROM app, regexp_match(repository_url, '^(https?)://(\[[0-9a-fA-F:.]+\]|[^/:]+)(?::([0-9]+))?/') AS parts
    WHERE parts IS NOT NULL
  ) AS address
) AS known
WHERE credential.kind = 'https' AND credential.app_id = known.id;

UPDATE "source_credential" AS credential SET "host" = known.hosts[1]
FROM (
  SELECT app_id, array_agg(DISTINCT host) AS hosts
  FROM (
    SELECT app_id, CASE
        WHEN first IN ('index.docker.io', 'registry-1.docker.io') THEN 'docker.io'
        WHEN image LIKE '%/%' AND (first ~ '[.:A-Z]' OR first = 'localhost') THEN lower(first)
        ELSE 'docker.io'
      END AS host
    FROM (
      SELECT DISTINCT ON (app_id, environment_id) app_id, settings->>'builder' AS builder,
        settings->>'image' AS image, split_part(settings->>'image', '/', 1) AS first
      FROM app_config ORDER BY app_id, environment_id, number DESC
    ) AS newest
    WHERE builder = 'image' AND image <> ''
  ) AS used
  GROUP BY app_id
) AS known
WHERE credential.kind = 'registry' AND credential.app_id = known.app_id AND cardinality(known.hosts) = 1;

RESET ROLE;
