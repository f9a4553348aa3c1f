-- A host may lead to several apps, by the beginning of the path. As a whole it belongs to one organization: row-level security
-- hides the rows of others from whoever attaches a path, an exclusion sees them all. Core PostgreSQL cannot exclude by text; this
-- extension comes with it and is trusted, so it needs no superuser.
CREATE EXTENSION IF NOT EXISTS btree_gist WITH SCHEMA guard;

ALTER TABLE "domain" ADD COLUMN "path_prefix" TEXT NOT NULL DEFAULT '/';
DROP INDEX "domain_host_key";
CREATE UNIQUE INDEX "domain_host_path_prefix_key" ON "domain"("host", "path_prefix");
ALTER TABLE "domain" ADD CONSTRAINT "domain_host_of_one_organization"
  EXCLUDE USING gist ("host" WITH =, "organization_id" WITH <>);
