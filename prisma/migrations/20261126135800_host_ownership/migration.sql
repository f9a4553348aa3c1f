-- Several organizations may have a public host, or one could keep a name from its owner. Names of this machine have no
-- owner who could prove them: the first organization has them.
DROP INDEX "domain_host_path_prefix_key";
CREATE UNIQUE INDEX "domain_organization_id_host_path_prefix_key" ON "domain"("organization_id", "host", "path_prefix");
ALTER TABLE "domain" DROP CONSTRAINT "domain_host_of_one_organization";
ALTER TABLE "domain" ADD CONSTRAINT "domain_host_of_one_organization"
  EXCLUDE USING gist ("host" WITH =, "organization_id" WITH <>) WHERE (host = 'localhost' OR host LIKE '%.localhost');

-- Code by which the owner of a name lets another organization take over its proof; only its hash is stored.
ALTER TABLE "host_proof"
  ADD COLUMN "transfer_hash" TEXT,
  ADD COLUMN "transfer_expires_at" TIMESTAMPTZ(3);
SET ROLE fairlead_system;
-- Hosts of before get a token. It need not be hard to guess: a proof needs control of the DNS zone.
INSERT INTO host_proof (id, organization_id, host, token)
  SELECT 'prf_' || md5(random()::text || organization_id || name), organization_id, name, 'fairlead-' || md5(random()::text || organization_id || name)
  FROM (SELECT DISTINCT organization_id, regexp_replace(host, '^\*\.', '') AS name FROM domain_host) AS claimed
  ON CONFLICT DO NOTHING;
RESET ROLE;
