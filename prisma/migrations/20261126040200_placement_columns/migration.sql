-- Contract: columns that moved to placement_server go, and settings, secrets and domains hang on their placement.
ALTER TABLE "placement" DROP CONSTRAINT "placement_organization_id_server_id_fkey";
ALTER TABLE "placement" DROP CONSTRAINT "placement_organization_id_live_release_id_fkey";
DROP INDEX "placement_app_id_environment_id_server_id_key";
DROP INDEX "placement_organization_id_app_id_idx";
ALTER TABLE "placement" DROP COLUMN "server_id", DROP COLUMN "live_release_id", DROP COLUMN "secrets_problem";

CREATE UNIQUE INDEX "placement_app_id_environment_id_organization_id_key" ON "placement"("app_id", "environment_id", "organization_id");
-- An app has one primary environment.
CREATE UNIQUE INDEX placement_primary ON placement (app_id) WHERE is_primary;

ALTER TABLE "app_config" ADD CONSTRAINT "app_config_app_id_environment_id_organization_id_fkey" FOREIGN KEY ("app_id", "environment_id", "organization_id") REFERENCES "placement"("app_id", "environment_id", "organization_id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "domain" ADD CONSTRAINT "domain_app_id_environment_id_organization_id_fkey" FOREIGN KEY ("app_id", "environment_id", "organization_id") REFERENCES "placement"("app_id", "environment_id", "organization_id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret" ADD CONSTRAINT "secret_app_id_environment_id_organization_id_fkey" FOREIGN KEY ("app_id", "environment_id", "organization_id") REFERENCES "placement"("app_id", "environment_id", "organization_id") ON DELETE CASCADE ON UPDATE CASCADE;
