-- Takes the migration of agent_rollout_skipped back, for the version before it: psql "$DATABASE_URL" -f this file, with the
-- control plane stopped. A rollout that upgraded no server counts as cancelled then.
BEGIN;
SET LOCAL ROLE fairlead_system;
UPDATE agent_rollout SET state = 'cancelled' WHERE state = 'skipped';
RESET ROLE;
ALTER TABLE agent_rollout DROP CONSTRAINT agent_rollout_state_known;
ALTER TABLE agent_rollout ADD CONSTRAINT agent_rollout_state_known
  CHECK (state IN ('running', 'stopped', 'succeeded', 'cancelled'));
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126112000_agent_rollout_skipped';
COMMIT;
