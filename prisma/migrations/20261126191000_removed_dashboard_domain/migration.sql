-- Domains that the dashboard had. Browsers keep its cookies for them until the sessions end, so no app gets them before.
CREATE TABLE "removed_dashboard_domain" (
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "removed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "removed_dashboard_domain_pkey" PRIMARY KEY ("organization_id", "host")
);
ALTER TABLE "removed_dashboard_domain" ADD CONSTRAINT "removed_dashboard_domain_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE removed_dashboard_domain ADD CONSTRAINT removed_dashboard_domain_host_lower CHECK (host = lower(host));

SELECT guard.protect_tenant_table('removed_dashboard_domain');
