-- Upgrades of an organization's agents in waves, and the servers of each.
CREATE TABLE "agent_rollout" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "offers" JSONB NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "wave" INTEGER NOT NULL DEFAULT 0,
    "wave_started_at" TIMESTAMPTZ(3),
    "failed_server_id" TEXT,
    "reason" TEXT,
    "requested_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "agent_rollout_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "agent_rollout_server" (
    "rollout_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "wave" INTEGER,
    "attempt" INTEGER,
    "left_out" TEXT,

    CONSTRAINT "agent_rollout_server_pkey" PRIMARY KEY ("rollout_id","server_id")
);

CREATE UNIQUE INDEX "agent_rollout_organization_id_id_key" ON "agent_rollout"("organization_id", "id");
CREATE INDEX "agent_rollout_server_server_id_idx" ON "agent_rollout_server"("server_id");

ALTER TABLE "agent_rollout" ADD CONSTRAINT "agent_rollout_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "agent_rollout_server" ADD CONSTRAINT "agent_rollout_server_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "agent_rollout_server" ADD CONSTRAINT "agent_rollout_server_organization_id_rollout_id_fkey" FOREIGN KEY ("organization_id", "rollout_id") REFERENCES "agent_rollout"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "agent_rollout_server" ADD CONSTRAINT "agent_rollout_server_organization_id_server_id_fkey" FOREIGN KEY ("organization_id", "server_id") REFERENCES "server"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE agent_rollout ADD CONSTRAINT agent_rollout_state_known
  CHECK (state IN ('running', 'stopped', 'succeeded', 'cancelled'));
ALTER TABLE agent_rollout_server ADD CONSTRAINT agent_rollout_server_left_out_known
  CHECK (left_out IN ('offline', 'unsupported', 'no_program', 'current'));
-- An organization runs one rollout at a time.
CREATE UNIQUE INDEX agent_rollout_running ON agent_rollout (organization_id) WHERE state = 'running';

SELECT guard.protect_tenant_table('agent_rollout');
SELECT guard.protect_tenant_table('agent_rollout_server');
