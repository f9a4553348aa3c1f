-- Outbox of reports to GitHub about deployments: one row for a deployment, which is sent until it is what GitHub has.
CREATE TABLE "github_report" (
    "deployment_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "sent_phase" TEXT,
    "check_run_id" BIGINT,
    "github_deployment_id" BIGINT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "problem" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "github_report_pkey" PRIMARY KEY ("deployment_id")
);

CREATE INDEX "github_report_next_attempt_at_idx" ON "github_report"("next_attempt_at");
CREATE UNIQUE INDEX "github_report_organization_id_deployment_id_key" ON "github_report"("organization_id", "deployment_id");

ALTER TABLE "github_report" ADD CONSTRAINT "github_report_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('github_report');
