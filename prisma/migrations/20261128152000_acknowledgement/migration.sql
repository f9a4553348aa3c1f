-- Entries of the overview that members hide, and when those who may approve a deployment were notified.
CREATE TABLE "acknowledgement" (
    "member_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "acknowledgement_pkey" PRIMARY KEY ("member_id", "kind", "subject")
);

CREATE INDEX "acknowledgement_organization_id_idx" ON "acknowledgement"("organization_id");

ALTER TABLE "acknowledgement" ADD CONSTRAINT "acknowledgement_organization_id_member_id_fkey" FOREIGN KEY ("organization_id", "member_id") REFERENCES "member"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('acknowledgement');

ALTER TABLE "deployment_approval" ADD COLUMN "notified_at" TIMESTAMPTZ(3);

-- The overview sums the hours of all apps of one organization.
CREATE INDEX app_1h_recent ON metric.app_1h (organization_id, at);
