-- Base domain of a server, and the names that its apps have below it.
ALTER TABLE "server" ADD COLUMN "base_domain" TEXT;
CREATE UNIQUE INDEX "server_organization_id_base_domain_key" ON "server"("organization_id", "base_domain");
ALTER TABLE "domain" ADD COLUMN "automatic" BOOLEAN NOT NULL DEFAULT false;
-- An app in an environment has one such name.
CREATE UNIQUE INDEX "domain_automatic_key" ON "domain"("app_id", "environment_id") WHERE "automatic";
