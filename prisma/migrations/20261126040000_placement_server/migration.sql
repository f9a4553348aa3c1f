-- Expand: the servers of a placement become rows of their own. A placement is an app in an environment from then on, and
-- no longer one of these for each server.
CREATE TABLE "placement_server" (
    "placement_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "live_release_id" TEXT,
    "secrets_problem" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "placement_server_pkey" PRIMARY KEY ("placement_id","server_id")
);

CREATE UNIQUE INDEX "placement_server_placement_id_position_key" ON "placement_server"("placement_id", "position");
CREATE INDEX "placement_server_server_id_idx" ON "placement_server"("server_id");
CREATE INDEX "placement_server_live_release_id_idx" ON "placement_server"("live_release_id");
CREATE UNIQUE INDEX "placement_organization_id_id_key" ON "placement"("organization_id", "id");

ALTER TABLE "placement_server" ADD CONSTRAINT "placement_server_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "placement_server" ADD CONSTRAINT "placement_server_organization_id_placement_id_fkey" FOREIGN KEY ("organization_id", "placement_id") REFERENCES "placement"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "placement_server" ADD CONSTRAINT "placement_server_organization_id_server_id_fkey" FOREIGN KEY ("organization_id", "server_id") REFERENCES "server"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "placement_server" ADD CONSTRAINT "placement_server_organization_id_live_release_id_fkey" FOREIGN KEY ("organization_id", "live_release_id") REFERENCES "release"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('placement_server');

ALTER TABLE "placement" ADD COLUMN "is_primary" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "placement" ALTER COLUMN "server_id" DROP NOT NULL;
