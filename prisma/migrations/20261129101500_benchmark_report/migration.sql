-- Published benchmark runs: redacted documents that a page shows to people without sign-in.
CREATE TABLE "benchmark_report" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "document" JSONB NOT NULL,
    "is_indexed" BOOLEAN NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "benchmark_report_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "benchmark_report_organization_id_run_id_key" ON "benchmark_report"("organization_id", "run_id");
CREATE INDEX "benchmark_report_organization_id_app_id_idx" ON "benchmark_report"("organization_id", "app_id");
ALTER TABLE "benchmark_report" ADD CONSTRAINT "benchmark_report_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "benchmark_report" ADD CONSTRAINT "benchmark_report_organization_id_run_id_fkey" FOREIGN KEY ("organization_id", "run_id") REFERENCES "benchmark_run"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "benchmark_report" ADD CONSTRAINT "benchmark_report_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('benchmark_report');
SELECT guard.hide_deleted_apps('benchmark_report', 'app_id');
