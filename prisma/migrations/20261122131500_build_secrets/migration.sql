-- Secrets that builds are given too: the mark belongs to a version, and a deployment keeps which versions its build began with.
ALTER TABLE "secret_version" ADD COLUMN "at_build" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "deployment" ADD COLUMN "build_snapshot_id" TEXT;

CREATE INDEX "deployment_build_snapshot_id_idx" ON "deployment"("build_snapshot_id");
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_organization_id_build_snapshot_id_fkey" FOREIGN KEY ("organization_id", "build_snapshot_id") REFERENCES "secret_snapshot"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
