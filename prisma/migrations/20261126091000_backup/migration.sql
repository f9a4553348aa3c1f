-- Backups of the control plane, scheduled or started by an operator.
CREATE TABLE "backup" (
    "id" TEXT NOT NULL,
    "slot" TIMESTAMPTZ(3),
    "state" TEXT NOT NULL DEFAULT 'queued',
    "requested_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "data_file" TEXT,
    "keys_file" TEXT,
    "size_bytes" BIGINT,
    "failure" TEXT,

    CONSTRAINT "backup_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "backup_created_at_idx" ON "backup"("created_at");

ALTER TABLE backup ADD CONSTRAINT backup_state_known
  CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'interrupted'));
-- One backup runs at a time, and each time of the schedule has one.
CREATE UNIQUE INDEX backup_unfinished ON backup ((true)) WHERE state IN ('queued', 'running');
CREATE UNIQUE INDEX backup_slot ON backup (slot) WHERE state <> 'interrupted';

SELECT guard.protect_system_table('backup');
