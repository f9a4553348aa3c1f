-- TLS settings of a host, for all of its paths.
CREATE TABLE "host_policy" (
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "policy" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "host_policy_pkey" PRIMARY KEY ("organization_id","host")
);

ALTER TABLE "host_policy" ADD CONSTRAINT "host_policy_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('host_policy');
