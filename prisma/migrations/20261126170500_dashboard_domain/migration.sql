-- Domains under which the local server serves the dashboard, beside the public URL of the settings.
CREATE TABLE "dashboard_domain" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "answered_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dashboard_domain_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "dashboard_domain_host_key" ON "dashboard_domain"("host");
CREATE UNIQUE INDEX "dashboard_domain_organization_id_id_key" ON "dashboard_domain"("organization_id", "id");
ALTER TABLE "dashboard_domain" ADD CONSTRAINT "dashboard_domain_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE dashboard_domain ADD CONSTRAINT dashboard_domain_host_lower CHECK (host = lower(host));

SELECT guard.protect_tenant_table('dashboard_domain');
