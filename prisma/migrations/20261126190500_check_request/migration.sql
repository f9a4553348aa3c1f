-- Hashes of processed requests on check runs. They outlive their deliveries, so that a captured request never acts again.
CREATE TABLE "check_request" (
    "organization_id" TEXT NOT NULL,
    "github_app_id" TEXT NOT NULL,
    "body_hash" TEXT NOT NULL,

    CONSTRAINT "check_request_pkey" PRIMARY KEY ("organization_id", "github_app_id", "body_hash")
);
ALTER TABLE "check_request" ADD CONSTRAINT "check_request_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('check_request');
