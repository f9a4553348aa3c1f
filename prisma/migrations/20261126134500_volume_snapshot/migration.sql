-- Snapshots of volumes, and moves of apps with their volumes.
CREATE TABLE "volume_move" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "source_server_id" TEXT NOT NULL,
    "target_server_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "is_from_snapshots" BOOLEAN NOT NULL,
    "deadline_at" TIMESTAMPTZ(3),
    "deployment_id" TEXT,
    "is_cancelled" BOOLEAN NOT NULL DEFAULT false,
    "failure_message" TEXT,
    "requested_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "left_server_id" TEXT,
    "delete_left_at" TIMESTAMPTZ(3),
    "left_released_at" TIMESTAMPTZ(3),

    CONSTRAINT "volume_move_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "volume_snapshot" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "volume_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "move_id" TEXT,
    "state" TEXT NOT NULL DEFAULT 'running',
    "step" TEXT,
    "failure_message" TEXT,
    "digest" TEXT,
    "size_bytes" BIGINT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "volume_snapshot_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "volume_restore" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "move_id" TEXT NOT NULL,
    "volume_id" TEXT NOT NULL,
    "snapshot_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "step" TEXT,
    "failure_message" TEXT,

    CONSTRAINT "volume_restore_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "volume_snapshot_volume_id_server_id_created_at_idx" ON "volume_snapshot"("volume_id", "server_id", "created_at");
CREATE INDEX "volume_snapshot_move_id_idx" ON "volume_snapshot"("move_id");
CREATE UNIQUE INDEX "volume_snapshot_organization_id_id_key" ON "volume_snapshot"("organization_id", "id");
CREATE INDEX "volume_move_organization_id_app_id_idx" ON "volume_move"("organization_id", "app_id");
CREATE INDEX "volume_move_source_server_id_idx" ON "volume_move"("source_server_id");
CREATE INDEX "volume_move_target_server_id_idx" ON "volume_move"("target_server_id");
CREATE UNIQUE INDEX "volume_move_organization_id_id_key" ON "volume_move"("organization_id", "id");
CREATE INDEX "volume_restore_move_id_idx" ON "volume_restore"("move_id");
CREATE INDEX "volume_restore_volume_id_idx" ON "volume_restore"("volume_id");
CREATE INDEX "volume_restore_snapshot_id_idx" ON "volume_restore"("snapshot_id");
CREATE INDEX "volume_restore_server_id_idx" ON "volume_restore"("server_id");
CREATE UNIQUE INDEX "volume_restore_organization_id_id_key" ON "volume_restore"("organization_id", "id");

ALTER TABLE "volume_move" ADD CONSTRAINT "volume_move_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_move" ADD CONSTRAINT "volume_move_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_snapshot" ADD CONSTRAINT "volume_snapshot_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_snapshot" ADD CONSTRAINT "volume_snapshot_organization_id_volume_id_fkey" FOREIGN KEY ("organization_id", "volume_id") REFERENCES "volume"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_snapshot" ADD CONSTRAINT "volume_snapshot_organization_id_move_id_fkey" FOREIGN KEY ("organization_id", "move_id") REFERENCES "volume_move"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_restore" ADD CONSTRAINT "volume_restore_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_restore" ADD CONSTRAINT "volume_restore_organization_id_move_id_fkey" FOREIGN KEY ("organization_id", "move_id") REFERENCES "volume_move"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_restore" ADD CONSTRAINT "volume_restore_organization_id_volume_id_fkey" FOREIGN KEY ("organization_id", "volume_id") REFERENCES "volume"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume_restore" ADD CONSTRAINT "volume_restore_organization_id_snapshot_id_fkey" FOREIGN KEY ("organization_id", "snapshot_id") REFERENCES "volume_snapshot"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE volume_move ADD CONSTRAINT volume_move_state_known
  CHECK (state IN ('copying', 'restoring', 'deploying', 'succeeded', 'failed', 'cancelled'));
ALTER TABLE volume_snapshot ADD CONSTRAINT volume_snapshot_state_known CHECK (state IN ('running', 'stored', 'failed'));
ALTER TABLE volume_snapshot ADD CONSTRAINT volume_snapshot_reason_known CHECK (reason IN ('schedule', 'manual', 'move'));
ALTER TABLE volume_snapshot ADD CONSTRAINT volume_snapshot_stored_whole
  CHECK (state <> 'stored' OR (digest IS NOT NULL AND size_bytes IS NOT NULL));
ALTER TABLE volume_restore ADD CONSTRAINT volume_restore_state_known CHECK (state IN ('running', 'done', 'failed'));
ALTER TABLE artifact DROP CONSTRAINT artifact_kind_known;
ALTER TABLE artifact ADD CONSTRAINT artifact_kind_known CHECK (kind IN ('build', 'upload', 'agent', 'volume'));
-- An app moves once at a time, and a volume of a server has one snapshot at a time.
CREATE UNIQUE INDEX volume_move_active ON volume_move (app_id, environment_id)
  WHERE state IN ('copying', 'restoring', 'deploying');
CREATE UNIQUE INDEX volume_snapshot_running ON volume_snapshot (volume_id, server_id) WHERE state = 'running';

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['volume_move', 'volume_snapshot', 'volume_restore']) AS name;
SELECT guard.hide_deleted_apps(name::regclass, 'app_id') FROM unnest(ARRAY['volume_move', 'volume_snapshot']) AS name;
