-- Expand: a push can wait until named checks of its commit at GitHub have passed.
ALTER TABLE "placement"
    ADD COLUMN "required_checks" TEXT[] NOT NULL DEFAULT '{}',
    ADD COLUMN "checks_timeout_minutes" INTEGER NOT NULL DEFAULT 60;

CREATE TABLE "deployment_check_wait" (
    "deployment_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "commit_hash" TEXT NOT NULL,
    "names" TEXT[] NOT NULL,
    "pending" TEXT[] NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deployment_check_wait_pkey" PRIMARY KEY ("deployment_id")
);

CREATE UNIQUE INDEX "deployment_check_wait_organization_id_deployment_id_key" ON "deployment_check_wait"("organization_id", "deployment_id");
CREATE INDEX "deployment_check_wait_due_at_idx" ON "deployment_check_wait"("due_at");
CREATE INDEX "deployment_check_wait_organization_id_commit_hash_idx" ON "deployment_check_wait"("organization_id", "commit_hash");

ALTER TABLE "deployment_check_wait" ADD CONSTRAINT "deployment_check_wait_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('deployment_check_wait');
